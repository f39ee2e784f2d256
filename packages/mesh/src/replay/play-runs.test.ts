import { expect, test } from 'vitest'
import type { Exchange } from './exchange.ts'
import { createPlayRuns } from './play-runs.ts'

test('a record is shown without what has become a secret since it was written', () => {
  const call = { name: 'look', arguments: '{"at":"later-secret"}' }
  const asked = { role: 'user', content: 'ask later-secret' } as const
  const of: Exchange[] = [
    {
      number: 0,
      turn: 0,
      at: 0,
      purpose: 'loop',
      model: 'm',
      tools: {},
      messages: [asked],
      answer: { content: 'say later-secret', calls: [call] },
    },
    {
      number: 1,
      turn: 0,
      at: 1,
      purpose: 'loop',
      model: 'm',
      tools: {},
      messages: [
        asked,
        { role: 'assistant', content: 'say later-secret', calls: [{ ...call, id: 'c1' }] },
        { role: 'tool', content: 'seen later-secret', call_id: 'c1' },
      ],
      answer: { content: 'done', calls: [] },
    },
  ]
  const play = createPlayRuns(
    {
      kernel: { guard: () => {} } as never,
      exchanges: { of: () => of, sizeOf: () => ({ number: 1, bytes: 1 }), cutOf: () => null } as never,
      replays: {} as never,
      recorder: {
        wrap: (provider) => provider,
        flush: () => {},
        cleaner: () => (words) => words.replaceAll('later-secret', '[secret]'),
      },
    },
    { runs: { find: () => ({ id: 'run_1', agentId: 'a' }) } as never, requireModel: () => {} },
  )
  const shown = JSON.stringify(play.record({} as never, 'run_1'))
  expect(shown.match(/\[secret\]/g)).toHaveLength(4)
  expect(shown).not.toContain('later-secret')
})
