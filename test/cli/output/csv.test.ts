// Lines of the key file.
import { expect } from 'chai';
import { csvLine } from '../../../cli/output/csv.ts';

describe('a CSV line', () => {
  it('quotes separators, quotes and line ends according to RFC 4180', () => {
    expect(csvLine(['a', 'b,c', 'say "hi"', 'two\nlines', ''])).to.equal(
      'a,"b,c","say ""hi""","two\nlines",\r\n',
    );
  });

  it('leaves a negative number unchanged', () => {
    expect(csvLine(['-1', '-100.00', '-1.', '--1'])).to.equal("-1,-100.00,'-1.,'--1\r\n");
  });

  it('never starts a cell with a spreadsheet formula', () => {
    expect(csvLine(['=1+1', '+1', '-1+1', '@x', '\tx'])).to.equal("'=1+1,'+1,'-1+1,'@x,'\tx\r\n");
    expect(csvLine(['=HYPERLINK("x","y")'])).to.equal('"\'=HYPERLINK(""x"",""y"")"\r\n');
  });
});
