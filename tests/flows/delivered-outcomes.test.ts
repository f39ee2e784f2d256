import { headers } from '@flotilla/protocol/headers'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'

const cassette = aCassette({ when: 'question', turns: [says('four')] })

let mesh: MeshProcess
beforeAll(async () => {
  mesh = await startMesh({ cassettes: { told: cassette } })
})
afterAll(() => mesh?.stop())

/** State of the notification to the client of each run, from the outbox. */
function told(): Record<string, unknown> {
  const ledger = openLedger(mesh.home)
  try {
    const rows = ledger.rows("SELECT run_id, state FROM outbox WHERE recipient LIKE 'human:%'")
    return Object.fromEntries(rows.map((row) => [String(row['run_id']), row['state']]))
  } finally {
    ledger.close()
  }
}

describe('an outcome', () => {
  it('an outcome that its reader did not confirm is delivered again after the mesh was killed, for the same run', async () => {
    const ask = async () => {
      const reply = await mesh.call(meshHumanEndpoints.chat, {
        params: { id: operatorAgentId },
        body: { message: 'question' },
        headers: { [headers.idempotencyKey]: 'once', [headers.confirmsRead]: '1' },
        timeoutMs: patient(60_000),
      })
      return reply.json() as { id: string; outcome: { text: string } }
    }
    const { id, outcome } = await ask()
    expect(outcome.text).toBe('four')
    expect(told()).toEqual({ [id]: 'pending' })
    await mesh.kill9()
    await mesh.restart()
    expect(await ask()).toMatchObject({ id, outcome: { text: 'four' } })
    expect(told()).toEqual({ [id]: 'pending' })
    expect((await mesh.call(meshHumanEndpoints.runRead, { params: { id }, body: {} })).status).toBe(200)
    expect(told()).toEqual({ [id]: 'delivered' })
  })

  it('an outcome that the command line printed counts as delivered, for each command that waits for one', async () => {
    await mesh.restartIfStopped()
    const before = Object.keys(told())
    for (const words of [
      ['chat', 'operator', 'question'],
      ['chat', 'operator', 'question', '--json'],
      ['invoke', 'operator', 'list_agents'],
    ]) {
      const { code, out, err } = await flotilla({ url: mesh.url, home: mesh.home }, ...words)
      expect(code, `${words.join(' ')}: ${out} ${err}`).toBe(0)
    }
    const since = Object.entries(told()).filter(([id]) => !before.includes(id))
    expect(since.map(([, state]) => state)).toEqual(['delivered', 'delivered', 'delivered'])
  })
})
