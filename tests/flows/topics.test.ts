import { topicHumanApi, topicHumanEndpoints } from '@flotilla/protocol/topics-api'
import { expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMeshForTest } from '../support/mesh-process.ts'

const cassette = aCassette(
  { when: '^listen$', turns: [calls('subscribe_topic', { topic: 'builds' }), says('Listening.')] },
  {
    when: '^tell$',
    turns: [
      calls('publish_signal', { topic: 'builds', text: 'main is green', data: { run: 7 } }),
      says('{{reply}}', { capture: { reply: '("delivered": ?\\d+)' } }),
    ],
  },
  {
    when: '^read$',
    turns: [
      calls('read_signals', {}),
      says('Read: {{text}}', { capture: { text: '(main is green|"signals": ?\\[\\])' } }),
    ],
  },
)

it('what one agent says on a topic waits for those who listen until a run of theirs has read it', async () => {
  const mesh = await startMeshForTest({ cassettes: { topics: cassette } })
  for (const [agent, field] of [
    ['speaker', 'can_publish'],
    ['hearer', 'can_subscribe'],
  ] as const) {
    await mesh.createWorker(agent)
    expect(await flotilla(mesh, 'permissions', 'set', agent, `${field}=builds`)).toMatchObject({ code: 0 })
  }
  const ask = async (agent: string, message: string) => (await mesh.ask(message, { agent })).outcome?.text
  const unread = async () =>
    topicHumanApi.signalsOf.response.parse(
      (await mesh.call(topicHumanEndpoints.signalsOf, { params: { id: 'hearer' } })).json(),
    )

  expect(await ask('speaker', 'tell')).toMatch(/"delivered": ?0/)
  expect(await ask('hearer', 'listen')).toBe('Listening.')
  const runsBefore = (await mesh.runs()).length
  expect(await ask('speaker', 'tell')).toMatch(/"delivered": ?1/)
  // A message on a topic starts no run by itself, and survives a restart of the mesh.
  expect((await mesh.runs()).length).toBe(runsBefore + 1)
  await mesh.kill9()
  await mesh.restart()
  expect(await unread()).toMatchObject({
    topics: ['builds'],
    unread: 1,
    signals: [{ topic: 'builds', from: 'speaker', text: 'main is green', data: { run: 7 } }],
  })
  expect((await flotilla(mesh, 'signals', 'hearer')).out).toContain('main is green')
  expect((await flotilla(mesh, 'topics')).out).toMatch(/builds +hearer/)

  expect(await ask('hearer', 'read')).toBe('Read: main is green')
  expect((await unread()).unread).toBe(0)

  // An agent subscribes and publishes only if its permission record allows it.
  const refused = await mesh.ask('listen', { agent: 'speaker', session: 'r' })
  expect(JSON.stringify(refused)).not.toContain('unread')
  expect((await flotilla(mesh, 'topics')).out).not.toMatch(/builds +.*speaker/)
})
