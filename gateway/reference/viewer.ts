// Written by npm run gen.
export const VIEWER = {"script":"viewer-c8c2050cb308a45e.js","style":"viewer-1fe39ddab24833ab.css"};
