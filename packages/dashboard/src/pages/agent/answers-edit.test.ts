import { setupApi } from '@flotilla/protocol/setup-api'
import { expect, it } from 'vitest'
import { answerChanges, answerFieldsOf, answersFault, answersText } from './answers-edit.ts'

const before = answerFieldsOf({ chat: { thinking: 'low', max_output_tokens: 2000 }, task: {} })

it('the answers of an agent are saved by kind of run, and what is the same is not sent', () => {
  expect(answerChanges(before, { ...before, chat: { thinking: 'low', outputTokens: ' 2000 ' } })).toEqual([])
  const changes = answerChanges(before, {
    chat: { thinking: '', outputTokens: '' },
    task: before.task,
    heartbeat: { thinking: 'minimal', outputTokens: '500' },
  })
  expect(changes).toEqual([
    { kind: 'chat', thinking: null, max_output_tokens: null },
    { kind: 'heartbeat', thinking: 'minimal', max_output_tokens: 500 },
  ])
  for (const change of changes)
    expect(setupApi.setupAnswersSet.request.safeParse({ agent: 'scribe', ...change }).success).toBe(true)
})

it('the length of an answer is a whole number within its limits, or nothing', () => {
  const withTokens = (outputTokens: string) =>
    answersFault({ ...before, task: { thinking: '', outputTokens } })
  expect([withTokens(''), withTokens('16'), withTokens('1000000')]).toEqual([null, null, null])
  for (const typed of ['15', '1000001', '2.5', 'many', '-1']) expect(withTokens(typed)).toMatch(/in a task/)
})

it('each kind of run is a line of its own', () => {
  expect(answersText(before).split('\n')).toEqual([
    'chat: thinking low, longest answer 2000 tokens',
    'task: thinking as all agents, longest answer as all agents',
    'heartbeat: thinking as all agents, longest answer as all agents',
  ])
})
