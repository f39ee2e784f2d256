import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { vaultHumanEndpoints } from '@flotilla/protocol/vault-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCanaryDay, decoy, startCanaryMesh } from '../support/canary-day.ts'
import type { CanaryDay } from '../support/canary-day.ts'
import { createCanaryHunt } from '../support/canary-hunt.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { heedsLesson, verifies } from '../verifies.ts'
import { patient } from '../support/patience.ts'

let day: CanaryDay
let mesh: MeshProcess

beforeAll(async () => {
  day = await aCanaryDay({ isolated: false })
  mesh = await startCanaryMesh(day)
  await day.work(mesh)
}, patient(300_000))
afterAll(async () => {
  await mesh?.stop()
  await day?.close()
})

describe('after a day with credentials', () => {
  it('no canary of either tier is in any file, log, row, journal entry, event, metric or environment', async () => {
    heedsLesson(12)
    verifies('authentication:credentials:system-never', 'authentication:credentials:handles-only')
    const hunt = createCanaryHunt(day.canaries)
    const envFile = join(mesh.home, '.env')
    hunt.search('what the mesh printed', mesh.log())
    for (const endpoint of [
      meshHumanEndpoints.status,
      meshHumanEndpoints.runs,
      meshHumanEndpoints.tasks,
      meshHumanEndpoints.blackboard,
      meshHumanEndpoints.artifacts,
      meshHumanEndpoints.costs,
      meshHumanEndpoints.metrics,
      vaultHumanEndpoints.credentials,
      vaultHumanEndpoints.credentialRequests,
    ])
      hunt.search(`GET ${endpoint.path}`, (await mesh.call(endpoint)).text)
    const artifact = await mesh.call(meshHumanEndpoints.artifact, {
      params: { agent: 'clerk', name: 'answer.txt' },
    })
    hunt.search('an artifact', artifact.text)
    const records = await mesh.agentProcesses()
    expect(records.length).toBeGreaterThan(1)
    let environments = ''
    for (const record of records) {
      for (const name of ['environ', 'cmdline'])
        environments += await readFile(`/proc/${record.pid}/${name}`, 'utf8').catch(() => '')
    }
    expect(environments).toContain('FLOTILLA_MESH_URL')
    hunt.search('environments of agents', environments)
    // While the mesh runs, a write-ahead log lies beside the database; after its end everything is in the database
    // file.
    await hunt.searchFolder(mesh.home, [envFile])
    expect(await mesh.terminate()).toBe(0)
    const rows = hunt.searchDatabase(join(mesh.home, 'data', 'mesh.db'))
    await hunt.searchFolder(mesh.home, [envFile])
    expect(hunt.findings()).toEqual([])

    expect(rows).toBeGreaterThan(50)
    expect(hunt.searched().places).toBeGreaterThan(60)
  })

  it('what came back beside the canaries is in each of those places', async () => {
    const hunt = createCanaryHunt([{ name: 'decoy', value: decoy }])
    hunt.searchDatabase(join(mesh.home, 'data', 'mesh.db'))
    await hunt.searchFolder(mesh.home)
    const places = hunt.findings().map(({ place }) => place.replace(mesh.home, ''))
    for (const place of ['table runs', 'table events', 'table notes', 'table tasks', 'table blackboard'])
      expect(places.join('\n')).toContain(place)
    expect(places.join('\n')).toMatch(/artifacts\//)
    expect(places.join('\n')).toMatch(/agents\/[0-9a-f]+\/data\/answer\.txt/)
  })

  it('the hunt knows a canary in every spelling', () => {
    const [one] = day.canaries
    if (!one) throw new Error('there is a canary')
    const spelled = [
      one.value,
      one.value.toUpperCase(),
      Buffer.from(one.value).toString('hex'),
      Buffer.from(`a${one.value}`).toString('base64'),
      Buffer.from(`ab${one.value}`).toString('base64url'),
      Buffer.from(one.value, 'utf16le').toString('latin1'),
    ]
    for (const text of spelled) {
      const hunt = createCanaryHunt(day.canaries)
      hunt.search('here', Buffer.from(`..${text}..`, 'latin1'))
      expect(hunt.findings(), text).not.toEqual([])
    }
  })

  it('hosts that nothing is bound to saw none of them, and the one they are bound to saw those alone', () => {
    const hunt = createCanaryHunt(day.canaries)
    expect(day.far.requests.length).toBeGreaterThan(0)
    hunt.search('the far end', JSON.stringify(day.far.requests))
    expect(hunt.findings()).toEqual([])
    const home = createCanaryHunt(
      day.canaries.filter(({ name }) => !['bound', 'basic', 'late', 'provider'].includes(name)),
    )
    home.search('the bound host', JSON.stringify(day.web.requests))
    expect(home.findings()).toEqual([])
  })

  it('the settings file holds the CAPTCHA names no more, and the environment file is for the owner alone', async () => {
    verifies('resources:credential:captcha-stripped')
    expect(await readFile(join(mesh.home, 'config', 'settings.json'), 'utf8')).not.toContain('CAPTCHA')
    expect(mesh.log()).toContain('removed secrets from config/settings.json')
    expect(await readFile(join(mesh.home, '.env'), 'utf8')).toContain(day.value('late'))
  })
})
