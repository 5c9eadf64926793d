// How a handler reads a parameter of the query.
import { expect } from 'chai';
import { Problem } from '../../../gateway/problem.ts';
import { queryParameter } from '../../../gateway/routes/route.ts';

describe('a query parameter', () => {
  it('is decoded like a form', () => {
    expect(queryParameter('fp=a%2Bb+c', 'fp')).to.equal('a+b c');
    expect(queryParameter('x=1&f%70=a=b&y', 'fp')).to.equal('a=b');
  });

  it('is empty without a value, and undefined if absent', () => {
    expect(queryParameter('fp', 'fp')).to.equal('');
    expect(queryParameter('fp=', 'fp')).to.equal('');
    expect(queryParameter('', 'fp')).to.equal(undefined);
    expect(queryParameter('fpx=1&FP=2&&', 'fp')).to.equal(undefined);
  });

  it('is refused if repeated or an array', () => {
    for (const query of ['fp=a&fp=a', 'fp&fp', 'fp[]=a', 'fp%5B0%5D=a', 'fp=a&f%70=b']) {
      expect(() => queryParameter(query, 'fp'), query).to.throw(
        Problem,
        'fp: must appear only once, as fp=…',
      );
    }
  });
});
