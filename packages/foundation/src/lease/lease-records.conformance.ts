import { describe, expect, test } from 'vitest'
import type { LeaseRecords } from './lease-records.ts'

/** The contract of every adapter of `lease-records.ts`. `make` returns two clients of one place without a record. */
export function leaseRecordsConformance(
  name: string,
  make: () => Promise<readonly [LeaseRecords, LeaseRecords]>,
): void {
  const signal = new AbortController().signal

  describe(`${name} as a place of leases`, () => {
    test(`${name} as a place of leases has none until one is written, and gives that to everybody`, async () => {
      const [mine, others] = await make()
      expect(await mine.read(signal)).toBeNull()
      const written = await mine.write({ holder: 'one', epoch: 4 }, null, signal)
      expect(written).toMatchObject({ holder: 'one', epoch: 4 })
      expect(await others.read(signal)).toEqual(written)
    })

    test('L1 makes a first record once', async () => {
      const [mine, others] = await make()
      const ends = await Promise.all([
        mine.write({ holder: 'one', epoch: 1 }, null, signal),
        others.write({ holder: 'two', epoch: 1 }, null, signal),
      ])
      const won = ends.filter((end) => end !== null)
      expect(won).toHaveLength(1)
      expect(await mine.read(signal)).toEqual(won[0])
    })

    test('L1 lets one of two change the same version', async () => {
      const [mine, others] = await make()
      const first = await mine.write({ holder: 'one', epoch: 1 }, null, signal)
      const over = first?.version ?? ''
      const ends = await Promise.all([
        mine.write({ holder: 'one', epoch: 1 }, over, signal),
        others.write({ holder: 'two', epoch: 2 }, over, signal),
      ])
      const won = ends.filter((end) => end !== null)
      expect(won).toHaveLength(1)
      expect(await others.read(signal)).toEqual(won[0])
      expect(await mine.write({ holder: 'late', epoch: 9 }, over, signal)).toBeNull()
    })

    test('L3 gives what says the same again another version', async () => {
      const [mine, others] = await make()
      const first = await mine.write({ holder: 'one', epoch: 1 }, null, signal)
      const again = await mine.write({ holder: 'one', epoch: 1 }, first?.version ?? '', signal)
      expect(again?.version).not.toBe(first?.version)
      expect(await others.read(signal)).toEqual(again)
    })

    test(`${name} as a place of leases keeps a released record, so that the epoch continues`, async () => {
      const [mine, others] = await make()
      const first = await mine.write({ holder: 'one', epoch: 7 }, null, signal)
      await mine.write({ holder: null, epoch: 7 }, first?.version ?? '', signal)
      expect(await others.read(signal)).toMatchObject({ holder: null, epoch: 7 })
    })

    test('L5 rejects once the signal aborts', async () => {
      const [mine] = await make()
      const over = AbortSignal.abort(new Error('aborted'))
      await expect(mine.read(over)).rejects.toThrow('aborted')
      await expect(mine.write({ holder: 'one', epoch: 1 }, null, over)).rejects.toThrow('aborted')
      expect(await mine.read(signal)).toBeNull()
    })
  })
}
