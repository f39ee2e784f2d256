import fc from 'fast-check'
import { expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { subagentHarness, uses } from '../testing/subagent-harness.ts'
import { fakeTool } from '../testing/loop-parts.ts'
import { patient } from '../../../../tests/support/patience.ts'

/** What a loop may do in one turn, in any order. */
const whims = ['spawn one', 'spawn five', 'wait first', 'wait all', 'work', 'list', 'answer'] as const

test(
  'whatever the loops of a run do, no limit is passed, no key is used twice, no cent is lost, none is left behind',
  async () => {
    verifies('limits:subagents:concurrent', 'limits:subagents:depth')
    let deepest = 0
    let most = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...whims), { minLength: 5, maxLength: 60 }),
        fc.option(fc.integer({ min: 20, max: 400 }), { nil: null }),
        async (tape, maxTokens) => {
          let place = 0
          let born = 0
          let tokens = 0
          /** Sub-agents that call their model now, by the goal of their parent: a goal is the path from the top. */
          const asking = new Map<string, number>()
          const tool = fakeTool('tool', 'mesh')
          const spawn = (goal: string) => ['spawn_subagent', { goal: `${goal}.${(born += 1)}` }] as const
          const act = (whim: (typeof whims)[number], goal: string) => {
            switch (whim) {
              case 'spawn one':
                return uses(spawn(goal))
              case 'spawn five':
                return uses(...Array.from({ length: 5 }, () => spawn(goal)))
              case 'wait first':
                return uses(['wait_for_subagent', { until: 'first', timeout_seconds: 5 }])
              case 'wait all':
                return uses(['wait_for_subagent', { timeout_seconds: 5 }])
              case 'work':
                return uses(['tool', { value: 'x' }])
              case 'list':
                return uses(['list_subagents', {}])
              case 'answer':
                return { text: 'done' }
            }
          }
          const harness = subagentHarness(
            async ({ goal, turn }) => {
              const parent = goal.split('.').slice(0, -1).join('.')
              deepest = Math.max(deepest, goal.split('.').length - 1)
              asking.set(parent, (asking.get(parent) ?? 0) + 1)
              most = Math.max(most, ...asking.values())
              await new Promise((resolve) => setImmediate(resolve))
              asking.set(parent, (asking.get(parent) ?? 0) - 1)
              const answer = turn > 6 ? { text: 'done' } : act(tape[place++ % tape.length] ?? 'answer', goal)
              return answer
            },
            [tool],
            { spending: maxTokens === null ? null : { maxTokens, maxCostUsd: 100 } },
          )
          const { answer } = harness.model
          harness.deps.model.answer = async (...asked) => {
            const given = await answer(...asked)
            tokens += given.tokens
            return given
          }
          await harness.run()
          const asked = harness.model.thoughts.length
          expect(harness.state.tokens).toBe(tokens)
          expect(new Set(tool.keys).size).toBe(tool.keys.length)
          await new Promise((resolve) => setImmediate(resolve))
          expect(harness.model.thoughts).toHaveLength(asked)
          expect(deepest).toBeLessThanOrEqual(2)
          expect(most).toBeLessThanOrEqual(3)
        },
      ),
      { numRuns: 60 },
    )
    // The limits were reached, so they were tested.
    expect([deepest, most]).toEqual([2, 3])
  },
  patient(60_000),
)
