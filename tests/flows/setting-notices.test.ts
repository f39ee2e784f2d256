import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { watchApi, watchEndpoints } from '@flotilla/protocol/watch-api'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMeshForTest } from '../support/mesh-process.ts'

async function aMesh() {
  const mesh = await startMeshForTest({
    settings: {
      default_model: 'corp/m',
      providers: { corp: { kind: 'openai-compatible', base_url: 'http://models.test/v1' } },
      models: { 'corp/m': { price: { input_per_mtok: 10, output_per_mtok: 30 } } },
    },
  })
  const at = { url: mesh.url, home: mesh.home }
  const notices = async () =>
    meshHumanApi.status.response.parse((await mesh.call(meshHumanEndpoints.status)).json()).notices
  return { mesh, at, notices }
}

it('a setting that is written and has no effect is listed at once by status and in the log, until it is right', async () => {
  const { mesh, at, notices } = await aMesh()
  expect(await notices()).toEqual([])
  const path = join(mesh.home, 'config', 'settings.json')
  const before = JSON.parse(await readFile(path, 'utf8')) as object
  const wrong = {
    ...before,
    web_search: { provider: 'searxng', url: 'http://10.0.0.9:8888' },
    egress: { allowed_hosts: { operatr: ['a.com'] }, use_proxy: true },
  }
  await writeFile(path, JSON.stringify(wrong))
  await eventually('the notices are there', async () => (await notices()).length === 3)
  const { out } = await flotilla(at, 'status')
  expect(out).toContain('web_search.url: 10.0.0.9:8888 is not a public address')
  expect(out).toContain('egress.allowed_hosts.operatr: there is no agent operatr; did you mean operator?')
  expect(out).toContain('egress.use_proxy: no proxy is set')
  await eventually('it is logged', async () => mesh.log().includes('a setting has no effect'))
  await writeFile(path, JSON.stringify(before))
  await eventually('the notices are gone', async () => (await notices()).length === 0)
})

it('a permission that matches nothing and a budget below one call are taken, with a note', async () => {
  const { at, notices } = await aMesh()
  const set = await flotilla(at, 'permissions', 'set', 'operator', 'allowed_credentials+=gitlab_*')
  expect(set.code, set.err).toBe(0)
  expect(set.out + set.err).toContain('Note: allowed_credentials of operator: no credential matches gitlab_*')
  const budget = await flotilla(at, 'budget', 'operator', '--daily', '0.01')
  expect(budget.code, budget.err).toBe(0)
  expect(budget.out + budget.err).toContain(
    'Note: the daily budget of operator is USD 0.01, and one small call',
  )
  expect((await notices()).length).toBe(2)
})

it('budgets of the fleet and of projects, and cron jobs that never fire, are listed by status and doctor', async () => {
  const { mesh, at, notices } = await aMesh()
  expect((await flotilla(at, 'budget', 'fleet', '--daily', '0.01')).code).toBe(0)
  expect((await flotilla(at, 'budget', 'project:garden', '--daily', '0.02')).code).toBe(0)
  const job = { id: 'digest', agent: 'operatr', schedule: '0 9 * * *', message: 'Write the digest.' }
  const path = join(mesh.home, 'config', 'cron.json')
  const { jobs } = JSON.parse(await readFile(path, 'utf8')) as { jobs: readonly object[] }
  await writeFile(path, JSON.stringify({ jobs: [...jobs, job] }))
  await eventually('the notices are there', async () => (await notices()).length === 3)
  expect(await notices()).toEqual([
    expect.stringContaining('the daily budget of the fleet is USD 0.01, and one small call'),
    expect.stringContaining('the daily budget of project garden is USD 0.02, and one small call'),
    'cron job digest: there is no agent operatr; did you mean operator?',
  ])
  const doctor = await flotilla(at, 'doctor')
  expect(doctor.out).toContain(
    'setting-without-effect  cron job digest: there is no agent operatr; did you mean operator?',
  )
})

it('a watcher of a folder that does not exist is taken, and its answer says that it waits', async () => {
  const { mesh } = await aMesh()
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-watched-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const noticesFor = async (path: string) => {
    const after = { path, pattern: '*', agent: 'operator', message: 'look', when: null }
    const reply = await mesh.call(watchEndpoints.watcherChange, { body: { before: null, after } })
    return watchApi.watcherChange.response.parse(reply.json()).notices
  }
  expect(await noticesFor(folder)).toEqual([])
  expect(await noticesFor(join(folder, 'none'))).toEqual([
    expect.stringContaining('the watcher waits for it'),
  ])
})
