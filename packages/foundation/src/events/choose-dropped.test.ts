import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chooseDropped } from './choose-dropped.ts'

const owners = fc.array(fc.constantFrom('', 'busy', 'busy', 'busy', 'quiet', 'calm'), { maxLength: 60 })
const numbered = (of: readonly string[]) => of.map((owner, at) => ({ seq: at + 1, owner }))

test('the events of a busy agent push out its own old ones, and none of a quiet agent', () => {
  const events = numbered(['quiet', ...Array.from({ length: 20 }, () => 'busy'), 'calm'])
  expect(chooseDropped(events, 10)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
})

test('exactly the rest is deleted, of no agent below its equal share, and of each agent its oldest events', () => {
  fc.assert(
    fc.property(owners, fc.nat({ max: 60 }), (of, keep) => {
      const events = numbered(of)
      const dropped = new Set(chooseDropped(events, keep))
      expect(dropped.size).toBe(Math.max(0, events.length - keep))
      const share = Math.floor(keep / Math.max(1, new Set(of).size))
      for (const owner of new Set(of)) {
        const own = events.filter((event) => event.owner === owner)
        const gone = own.filter(({ seq }) => dropped.has(seq))
        expect(own.slice(0, gone.length)).toEqual(gone)
        expect(own.length - gone.length).toBeGreaterThanOrEqual(Math.min(own.length, share))
      }
    }),
  )
})
