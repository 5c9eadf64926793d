// Whether the measurement finds what V8 keeps in old space.
import { expect } from 'chai';
import { survivingBytes } from './survivors.ts';

describe('the bytes that survive', () => {
  it('contain the objects behind the getters of an object literal', async () => {
    const surviving = await survivingBytes(2_000, () => {
      const data = Array<number>(1_000).fill(0);
      return {
        get data() {
          return data;
        },
      };
    });
    expect(surviving).to.be.above(5_000_000); // of 16 MB
  });

  it('contain the tables of a Map whose keys come and go', async () => {
    const map = new Map<string, number>();
    const surviving = await survivingBytes(100_000, () => {
      map.set('client', 1);
      map.delete('client');
    });
    expect(surviving).to.be.above(2_000_000);
  });

  it('do not contain objects that nothing refers to', async () => {
    const surviving = await survivingBytes(2_000, () => Array<number>(1_000).fill(0));
    expect(surviving).to.be.below(1_000_000);
  });
});
