import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { describe, expect, it, onTestFinished } from 'vitest'
import { aCassette, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { openLedger } from '../support/ledger-view.ts'
import { openMesh, startMeshForTest } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { canMount, mountAt } from '../support/small-disk.ts'
import type { SmallDisk } from '../support/small-disk.ts'

const mb = 1024 * 1024
const cassette = aCassette(
  { when: '^slow$', turns: [runs('sleep 3; echo slept'), says('Slept.')] },
  {
    when: '^hoard$',
    turns: [runs('head -c 90M /dev/zero > hoard; sleep 100', { timeoutSeconds: 200 }), says('Kept.')],
  },
  { turns: [says('Yes.')] },
)

/** A mesh whose data folder is a separate file system of this size. */
async function meshOnSmallDisk(sizeMb: number): Promise<{ mesh: MeshProcess; disk: SmallDisk }> {
  const home = await mkdtemp(join(tmpdir(), 'flotilla-flow-'))
  const data = join(home, 'data')
  for (const name of ['config', 'cassettes', 'data']) await mkdir(join(home, name))
  const disk = mountAt(data, { sizeMb })
  onTestFinished(async () => {
    disk.unmount()
    await rm(home, { recursive: true, force: true })
  })
  await writeFile(join(home, 'config', 'settings.json'), JSON.stringify({ default_model: 'scripted/disk' }))
  await writeFile(join(home, 'cassettes', 'disk.json'), JSON.stringify(cassette))
  const mesh = openMesh(home)
  onTestFinished(async () => {
    await mesh.terminate()
  })
  await mesh.restart()
  return { mesh, disk }
}

describe.skipIf(!canMount)('a mesh whose disk is full', () => {
  it('a mesh whose disk is full refuses new work with the reason, ends what it accepted, and goes on once there is room', async () => {
    const { mesh, disk } = await meshOnSmallDisk(96)
    await mesh.ask('hello')
    const accepted = await mesh.submit('slow', { session: 'accepted', key: 'once' })
    disk.fill(20 * mb)
    const ready = await mesh.call(meshHumanEndpoints.readyz)
    expect(ready.status).toBe(503)
    expect(ready.json()['problems']).toMatchObject([
      { id: 'disk-full', detail: expect.stringMatching(/has \d+ MB free/) as unknown },
    ])
    const asking = () =>
      mesh.call(meshHumanEndpoints.chat, {
        params: { id: 'operator' },
        body: { message: 'hi', session: 's' },
      })
    const refused = await asking()
    expect(refused.status).toBe(507)
    expect(refused.json()).toMatchObject({ code: 'disk-full' })
    expect(refused.headers['retry-after']).toBe('30')
    expect((await mesh.runs()).length).toBe(2)
    // A repeated request for an accepted run is not new work.
    expect(await mesh.submit('slow', { session: 'accepted', key: 'once' })).toBe(accepted)
    expect((await mesh.ended(accepted)).outcome).toMatchObject({ status: 'done', text: 'Slept.' })
    await disk.drain()
    expect((await mesh.call(meshHumanEndpoints.readyz)).status).toBe(200)
    expect((await mesh.ask('hello', { session: 'again' })).outcome?.text).toBe('Yes.')
  })

  it('a mesh whose disk is full lives on without a byte left, and every run has one outcome when there is room again', async () => {
    const { mesh, disk } = await meshOnSmallDisk(96)
    const accepted = await mesh.submit('slow')
    await eventually('it works', async () => (await mesh.run(accepted)).state === 'running')
    disk.fill()
    await new Promise((resolve) => setTimeout(resolve, 6000))
    expect((await mesh.call(meshHumanEndpoints.healthz)).status).toBe(200)
    expect((await mesh.call(meshHumanEndpoints.readyz)).json()['problems']).toMatchObject([
      { id: 'disk-full' },
    ])
    await disk.drain()
    const run = await mesh.ended(accepted, 120_000)
    expect(['done', 'failed']).toContain(run.state)
    const ledger = openLedger(mesh.home)
    expect(ledger.endings().get(accepted)).toBe(1)
    ledger.close()
    // After a failed write, the mesh tries one every second.
    await eventually('it is ready', async () => (await mesh.call(meshHumanEndpoints.readyz)).status === 200)
    expect((await mesh.ask('hello', { session: 'again' })).outcome?.text).toBe('Yes.')
  })
})

describe('an agent without a volume', () => {
  it('an agent without a volume is stopped over its limit, its run ends with the reason, and it runs again with a higher one', async () => {
    const mesh = await startMeshForTest({
      cassettes: { disk: cassette },
      settings: { agents: { clerk: { data_limit_mb: 64 } } },
    })
    await mesh.createWorker('clerk')
    const run = await mesh.ended(await mesh.submit('hoard', { agent: 'clerk' }), 150_000)
    expect(run).toMatchObject({ state: 'failed', outcome: { code: 'data-full' } })
    expect(run.outcome?.text).toMatch(/has \d+ MB of 64 MB.*data_limit_mb.*flotilla restart clerk/)
    const ledger = openLedger(mesh.home)
    expect(ledger.endings().get(run.id)).toBe(1)
    ledger.close()
    const status = (await mesh.call(meshHumanEndpoints.status)).json()
    expect(status['agents']).toContainEqual(
      expect.objectContaining({
        id: 'clerk',
        state: 'restarting',
        last_error: expect.stringMatching(/^data-full/) as unknown,
      }),
    )
    const settings = join(mesh.home, 'config', 'settings.json')
    const text = await readFile(settings, 'utf8')
    await writeFile(settings, text.replace('"data_limit_mb": 64', '"data_limit_mb": 200'))
    await eventually('it starts with the new limit', async () => {
      const reply = await mesh.call(meshHumanEndpoints.agentRestart, {
        params: { id: 'clerk' },
        timeoutMs: patient(60_000),
      })
      return reply.status === 200
    })
    expect((await mesh.ask('well?', { agent: 'clerk', session: 'after' })).outcome?.text).toBe('Yes.')
  })
})
