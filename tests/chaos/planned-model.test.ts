import { expect, onTestFinished, test } from 'vitest'
import { httpCall } from '../support/http-call.ts'
import { createChance } from './chance.ts'
import { startOutsideServer } from './outside-server.ts'
import { startPlannedModel } from './planned-model.ts'

test('the planned model follows its plan, remembers its inputs, and bills each answer under its number', async () => {
  const model = await startPlannedModel({ chance: createChance(5), outside: 'http://x' })
  onTestFinished(() => model.close())
  const ask = async (messages: object[]) => {
    for (;;) {
      const body = JSON.stringify({ model: 'planned', stream: true, messages })
      const reply = await httpCall({ method: 'POST', url: `${model.baseUrl}/chat/completions`, body })
      // The model answers some requests with an error.
      if (reply.status === 200) return reply.text
    }
  }
  const plan = { role: 'user', content: 'Plan c1: board.' }
  const answer = await ask([plan])
  expect(answer).toContain('write_blackboard')
  const [call] = model.calls()
  expect(call).toMatchObject({ id: 'c1.0.1', step: 'board', told: null })
  // An id with other characters is replaced before the agent reads it.
  const [, id] = /"id":"([a-zA-Z0-9_-]{1,40})","type":"function"/.exec(answer) ?? []
  expect(id).toBeDefined()
  const made = { role: 'assistant', content: '', tool_calls: [{ id }] }
  const result = { role: 'tool', tool_call_id: id, content: 'Error (version-conflict): no' }
  expect(await ask([plan, made, result, { role: 'user', content: 'Steer s4 is said.' }])).toContain(
    'All of it is done.',
  )
  expect(model.calls()).toMatchObject([{ told: 'refused', words: 'Error (version-conflict): no' }])
  expect([...model.steersSeen()]).toEqual([['s4', 1]])
  // `whole` is set only after the reader has received the answer, a little later.
  await expect
    .poll(() => model.billed())
    .toMatchObject([
      { number: 1, marker: 'c1', whole: true },
      { number: 2, marker: 'c1', whole: true },
    ])
})

test('the server outside counts each request under the call that it names', async () => {
  const outside = await startOutsideServer(createChance(5))
  onTestFinished(() => outside.close())
  const arrived = outside.requests(2, new AbortController().signal)
  for (let n = 0; n < 2; n++) await httpCall({ method: 'POST', url: outside.address, body: 'c1.0.1' })
  await arrived
  expect(outside.effects().map(({ callId }) => callId)).toEqual(['c1.0.1', 'c1.0.1'])
})
