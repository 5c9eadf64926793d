// Written by npm run gen.
export const VIEWER = {"script":"viewer-d010ab7366c5033e.js","style":"viewer-1fe39ddab24833ab.css"};
