import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { noMesh, noProvenance } from '../testing/loop-parts.ts'
import type { FactKeeper } from './fact-keeper.ts'

const run = { runId: 'run_1', runOk: true, provenance: noProvenance, mesh: noMesh }

/** Makes a fact keeper, and a function that returns the facts that the keeper stored. */
export type MakeKeeper = () => Promise<{ keeper: FactKeeper; kept: () => Promise<string> }>

/** The contract of every fact keeper. */
export function describeFactKeeper(name: string, make: MakeKeeper): void {
  describe(`${name} as a keeper of facts`, () => {
    const facts = [sanitizeForPrompt('the door is green'), sanitizeForPrompt('the key is under the mat')]

    test('what it is given can be found', async () => {
      const { keeper, kept } = await make()
      expect(await keeper.saveFacts(facts, run)).toEqual({ saved: 2 })
      for (const fact of facts) expect(await kept()).toContain(fact)
    })

    test('a run in which nothing worked leaves no fact', async () => {
      heedsLesson(106)
      const { keeper, kept } = await make()
      expect(await keeper.saveFacts(facts, { ...run, runOk: false })).toEqual({ saved: 0 })
      expect(await kept()).not.toContain('door')
    })

    test('what it is given again is kept once', async () => {
      const { keeper, kept } = await make()
      await keeper.saveFacts(facts, run)
      expect(await keeper.saveFacts(facts.slice(0, 1), { ...run, runId: 'run_2' })).toEqual({ saved: 1 })
      expect((await kept()).match(/the door is green/g)).toHaveLength(1)
    })

    test('words with nothing to be seen in them are not kept, and those beside them are', async () => {
      const { keeper, kept } = await make()
      expect(await keeper.saveFacts([sanitizeForPrompt(' \u200b '), ...facts], run)).toEqual({ saved: 2 })
      for (const fact of facts) expect(await kept()).toContain(fact)
    })

    test('no fact is no entry', async () => {
      const { keeper, kept } = await make()
      expect(await keeper.saveFacts([], run)).toEqual({ saved: 0 })
      expect(await kept()).toBe('')
    })
  })
}
