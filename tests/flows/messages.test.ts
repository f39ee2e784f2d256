import { cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { messageHumanApi } from '@flotilla/protocol/message-api'
import { messageHumanEndpoints } from '@flotilla/protocol/message-endpoints'
import { expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMeshForTest } from '../support/mesh-process.ts'

const cassette = aCassette(
  {
    when: '^ask and wait$',
    turns: [
      calls('message_agent', { to: 'bob', text: 'how many?', wait_seconds: 60 }),
      says('Bob said {{count}}.', { capture: { count: 'there are (\\d+)' } }),
    ],
  },
  {
    when: 'Your message to bob .* is answered \\(done\\)\\.',
    turns: [says('Told later: {{count}}.', { capture: { count: 'there are (\\d+)' } })],
  },
  {
    when: '^ask whoever counts$',
    turns: [
      calls('message_agent', { to: 'capability:count', text: 'how many?' }),
      says('Asked {{who}}.', { capture: { who: '"to": ?"(\\w+)"' } }),
    ],
  },
  {
    when: '^say what you can$',
    turns: [calls('declare_capabilities', { capabilities: ['count'] }), says('Said.')],
  },
  // Bob asks back, which would continue forever.
  {
    when: 'Message of agent ada\\.[^]*how many',
    turns: [
      calls('message_agent', { to: 'ada', text: 'why do you ask?', wait_seconds: 60 }),
      says('there are 7 ({{refused}})', { capture: { refused: '(already waits for the result)' } }),
    ],
  },
  {
    when: '^tell the operator$',
    turns: [
      calls('message_agent', { to: 'operator', text: 'the disk is odd' }),
      says('{{state}}', { capture: { state: '(kept|sent)' } }),
    ],
  },
  { agent_kind: 'operator', when: 'the disk is odd', turns: [says('I read it.')] },
  { when: 'Your message to operator', turns: [says('{{answer}}', { capture: { answer: 'Answer: (.*)' } })] },
)

it('agents ask each other, are answered once, do not go round in circles, and wake the operator for people alone', async () => {
  const mesh = await startMeshForTest({ cassettes: { messages: cassette } })
  for (const agent of ['ada', 'bob']) await mesh.createWorker(agent)
  const may = (agent: string, whom: string) =>
    flotilla(mesh, 'permissions', 'set', agent, `can_message=${whom}`)
  expect(await may('ada', 'bob,operator')).toMatchObject({ code: 0 })
  expect(await may('bob', 'ada')).toMatchObject({ code: 0 })
  const ask = async (agent: string, message: string, session: string) =>
    (await mesh.ask(message, { agent, session })).outcome?.text
  const list = async () =>
    messageHumanApi.messages.response.parse((await mesh.call(messageHumanEndpoints.messages, {})).json())
      .messages

  expect(await ask('ada', 'ask and wait', 'one')).toBe('Bob said 7.')
  const [first] = await list()
  expect(first).toMatchObject({
    from: 'ada',
    to: 'bob',
    state: 'answered',
    answer: { state: 'done', text: 'there are 7 (already waits for the result)' },
  })
  // Each agent has one run, and the awaited answer caused no further turn.
  expect((await mesh.runs()).map((run) => run.agent_id).toSorted()).toEqual(['ada', 'bob'])

  expect(await ask('bob', 'say what you can', 'two')).toBe('Said.')
  expect(await ask('ada', 'ask whoever counts', 'three')).toBe('Told later: 7.')
  expect((await list())[0]).toMatchObject({ to: 'bob', capability: 'count', state: 'answered' })
  expect((await flotilla(mesh, 'messages', 'ada')).out).toMatch(/ada +bob \(count\) +answered/)

  // The request comes from a person, so the operator is started.
  expect(await ask('ada', 'tell the operator', 'four')).toBe('I read it.')
  const job = await mesh.call(cronHumanEndpoints.cronCreate, {
    body: { agent: 'ada', schedule: 'every 5s', message: 'tell the operator' },
  })
  expect(job.status).toBe(200)
  const kept = await eventually('a kept message', async () =>
    (await list()).find(({ state }) => state === 'kept'),
  )
  expect(kept).toMatchObject({ from: 'ada', to: 'operator', run_id: null, answer: null })
  await mesh.kill9()
  await mesh.restart()
  const beat = await flotilla(mesh, 'heartbeat', 'operator')
  expect(beat).toMatchObject({ code: 0 })
  const told = (await list()).find(({ id }) => id === kept.id)
  expect(told?.state).toBe('kept')
  expect(told?.run_id).toMatch(/^run_/)
})
