import { heartbeatEndpoints } from '@flotilla/protocol/heartbeat-api'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { startMeshForTest } from '../support/mesh-process.ts'

/** What the operator is asked, the call that it makes, and the answer, which is the tool's. */
const does = (when: string, tool: string, input: JsonObject) => ({
  agent_kind: 'operator' as const,
  when: `^${when}$`,
  turns: [calls(tool, input), says('{{how}}', { capture: { how: '^([^]{1,3000})' } })],
})
const cassette = aCassette(
  does('queue', 'list_queue', { agent_id: 'ada', limit: 5 }),
  does('costs', 'read_costs', {}),
  does('messages', 'read_messages', {}),
  does('templates', 'list_templates', {}),
  does('apply', 'apply_template', { name: 'starter' }),
  does('wake', 'set_heartbeat', { agent_id: 'ada', every: '45m' }),
  does('sleep', 'set_heartbeat', { agent_id: 'ada', every: 'off' }),
  does('myself', 'set_heartbeat', { agent_id: 'operator', every: 'off' }),
  does('note', 'save_observations', { text: 'ada answers in two seconds' }),
  { when: '^hello$', turns: [says('Hello of ada.')] },
  {
    agent_kind: 'operator',
    when: 'What changed in the fleet',
    turns: [says('{{seen}}', { capture: { seen: '(# What changed in the fleet[^#]*)' } })],
  },
)

it('the operator sees what waits, costs and was said, sets heartbeats of workers, and keeps what it saw', async () => {
  const mesh = await startMeshForTest({ cassettes: { operator: cassette } })
  await mesh.createWorker('ada')
  await mesh.ask('hello', { agent: 'ada' })
  const ask = async (message: string) =>
    (await mesh.ask(message, { agent: 'operator', session: message })).outcome?.text ?? ''

  expect(await ask('queue')).toMatch(/"about": ?"hello"[^]*"outcome": ?"Hello of ada\."/)
  expect(await ask('costs')).toMatch(/"scope": ?"fleet"[^]*"id": ?"ada"/)
  expect(await ask('messages')).toMatch(/"messages": ?\[\]/)
  expect(await ask('templates')).toMatch(/"starter"/)
  const applied = await ask('apply')
  expect(applied).toMatch(/"created": ?\[\s*"/)
  expect(await ask('apply')).toMatch(/"existing": ?\[\s*"/)

  const heartbeats = async () => JSON.stringify((await mesh.call(heartbeatEndpoints.heartbeats, {})).json())
  expect(await ask('wake')).toMatch(/every 45m/)
  expect(await heartbeats()).toContain('"schedule":"every 45m"')
  expect(await ask('sleep')).toMatch(/"schedule": ?null/)
  expect(await heartbeats()).not.toContain('every 45m')
  expect(await ask('myself')).toMatch(/no agent edits itself/)

  expect(await ask('note')).toMatch(/"kept": ?1/)
  const kept = await readFile(join(mesh.dataOf('operator'), 'workspace', 'OBSERVATIONS.md'), 'utf8')
  expect(kept).toContain('ada answers in two seconds')

  const beat = async () => {
    const reply = await mesh.call(heartbeatEndpoints.heartbeatRun, { params: { id: 'operator' }, body: {} })
    return JSON.stringify(reply.json())
  }
  expect(await beat()).toContain('Nothing to compare with yet')
  await mesh.createWorker('bob')
  expect(await beat()).toContain('- bob: is new')
  expect(await beat()).toContain('since your last heartbeat\\nNothing.')
})
