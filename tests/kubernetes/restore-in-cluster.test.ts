import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import * as z from 'zod'
import { trialInfix } from '../../packages/fleet/src/sandbox/kubernetes/try-claims.ts'
import type { MeshCalls } from '../support/mesh-calls.ts'
import { openMesh, startMesh, type MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { clusterOfThisRun } from './cluster-lane.ts'
import { until } from './cluster/until.ts'
import { defaultModel, giveSecrets, meshReady, ownNamespace, ownerOf, readMesh } from './in-cluster-mesh.ts'
import type { MeshPod } from './in-cluster-mesh.ts'
import { keeperCassette } from './keeper.ts'
import { manifestsOf } from './mesh-rights.ts'
import { guideBlocks, openTypist, type Typist } from './type-guide.ts'

/**
 * Moves a fleet from one machine into a mesh that is a pod, and back, with the literal commands of
 * docs/operations/kubernetes.md. Each test continues from the state that the one before left.
 */
const { api } = clusterOfThisRun()
const passphrase = 'a long sentence that nobody guesses'
const inMesh = `kubectl -n ${ownNamespace}`
const machineSettings = [
  `FLOTILLA_DEFAULT_MODEL=scripted/of-the-machine`,
  'FLOTILLA_AGENT_PORT=9999',
  'FLOTILLA_KUBERNETES_CONTEXT=of-the-machine',
  'FLOTILLA_CRED_PLANTED=planted-in-env-0123456789',
]
let folder: string
let machine: MeshProcess
let typist: Typist
let before: readonly string[]
let page: readonly (readonly string[])[]
let pod: MeshPod
const people = ownerOf(() => pod)
/** Names of the command blocks, in the order of the page. */
const blockNames = ['leave', 'enter', 'chart', 'empty', 'back', 'copy'] as const
type BlockName = (typeof blockNames)[number]
const block = (name: BlockName): readonly string[] => {
  const found = page[blockNames.indexOf(name)]
  if (found === undefined) throw new Error(`the page has no block to ${name}`)
  return found
}
const line = (name: BlockName, words: string): string => {
  const found = block(name).find((one) => one.includes(words))
  if (found === undefined) throw new Error(`no line to ${name} says ${words}`)
  return found
}
const tell = (words: string): void => void process.stdout.write(`${words}\n`)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-moves-'))
  await writeFile(join(folder, 'passphrase'), `${passphrase}\n`)
  page = await guideBlocks('docs/operations/kubernetes.md', '### Move a fleet into the cluster, and back')
  if (page.length !== blockNames.length) throw new Error(`the page has ${page.length} blocks of commands`)
  const settings = { data_limit_mb: 64 }
  machine = await startMesh({ runtime: 'process', cassettes: { talk: keeperCassette }, settings })
  typist = await openTypist(folder, { FLOTILLA_HOME: machine.home })
  await clearAway()
  await giveSecrets(await manifestsOf('deploy', 'kubernetes', 'flotilla.yaml'))
  await machine.createWorker('keeper')
  await machine.ask('keep', { agent: 'keeper' })
  before = (await machine.runs()).map(({ id }) => id)
  await writeFile(join(machine.home, '.env'), `${machineSettings.join('\n')}\n`, { mode: 0o600 })
}, patient(300_000))

afterAll(async () => {
  await clearAway()
  // Deletes Helm's record of its release only, since other tests of this cluster use the objects that it created.
  await typist.type('kubectl delete secret --selector owner=helm,name=fleet')
  await machine?.stop()
  await rm(folder, { recursive: true, force: true })
}, patient(300_000))

/** Removes what this test or another left: the mesh, and its home. */
async function clearAway(): Promise<void> {
  await withoutMesh()
  // A later test that installs a mesh checks whether the profiles are put on the nodes anew.
  await typist.type('kubectl -n flotilla-profiles delete daemonset profiles --ignore-not-found')
  const claims = await namesIn(ownNamespace, 'persistentvolumeclaims')
  if (!claims.includes('home-mesh-0')) return
  await typist.type([...waiting(), ...block('empty')])
  await withoutMesh()
  await typist.type(`${inMesh} delete persistentvolumeclaim home-mesh-0`)
}

async function withoutMesh(): Promise<void> {
  await typist.type(`${inMesh} delete statefulset mesh --ignore-not-found`)
  await until(async () => (await readMesh()) === null, patient(120_000), 'the mesh is gone')
}

/** The commands that make the pod wait. */
const waiting = () => [line('enter', 'restore.yaml'), line('enter', 'rollout')]
/** The commands that let the mesh start in the pod. */
const working = () => block('enter').slice(-2)

const listSchema = z.looseObject({
  items: z.array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) })),
})

async function namesIn(namespace: string, kind: string, group = '/api/v1'): Promise<readonly string[]> {
  const found = await api.get(`${group}/namespaces/${namespace}/${kind}`).catch(() => ({ items: [] }))
  return listSchema.parse(found).items.map(({ metadata }) => metadata.name)
}

/** Lists claims of agents; those of trial pods come and go. */
const agentClaims = async () =>
  (await namesIn('flotilla', 'persistentvolumeclaims')).filter((name) => !name.includes(trialInfix))

async function keptBy(mesh: MeshCalls, more: string): Promise<string> {
  const recalled = await mesh.invoke('keeper', 'memory_search', { query: 'tea' })
  const seen = await mesh.invoke('keeper', 'run_command', {
    command: `cat made/note; readlink made/link; stat -c "%a" made; ${more}`,
  })
  return JSON.stringify([recalled.outcome, seen.outcome])
}

const runIds = async () => (await people.runs()).map(({ id }) => id)

it(
  'a fleet enters a cluster where no mesh ever worked, with its runs, its keys and what its agents keep',
  async () => {
    const startedAt = performance.now()
    await typist.type(block('leave'))
    const [first, ...others] = block('enter')
    await typist.type(first ?? '')
    expect(await readMesh()).toBeNull()
    const restore = others.findIndex((one) => one.includes('flotilla restore'))
    const said = await typist.type(others.slice(0, restore + 1))
    expect(said).toContain('is restored: 2 agents')
    // The output names only commands that work in a cluster.
    expect(said).toContain('deploy/kubernetes/flotilla.yaml')
    expect(said).not.toContain('flotilla start')
    const places = '/proc/*/cmdline /backup /tmp /var/lib/flotilla'
    const search = `${inMesh} exec mesh-0 -- sh -c "grep -rlsaF '${passphrase}' ${places}"`
    // The search itself is a process whose command line contains the text.
    expect((await typist.try(search)).said.split('\n').filter((one) => !one.startsWith('/proc'))).toEqual([
      '',
    ])
    await typist.type(others.slice(restore + 1))
    pod = await meshReady('', patient(60_000))
    tell(`from stopping it on the machine to ready in the cluster: ${since(startedAt)} s`)

    const kept = await keptBy(people, 'echo of the cluster >> made/note; hostname')
    expect(kept).toContain('drinks tea at four')
    expect(kept).toContain(String.raw`kept\n/usr/bin/env\n750`)
    expect(kept).toContain('flotilla-')
    expect(await runIds()).toEqual(expect.arrayContaining([...before]))
    // The secret takes precedence over `.env`, and the manifests decide where the mesh listens.
    const status = meshHumanApi.status.response.parse((await people.call(meshHumanEndpoints.status)).json())
    expect(status.default_model?.name).toBe(defaultModel)
    const log = await typist.type(`${inMesh} logs mesh-0`)
    for (const name of ['FLOTILLA_AGENT_PORT', 'FLOTILLA_KUBERNETES_CONTEXT'])
      expect(log).toContain(`${name} in .env has no effect`)
    expect(log).not.toContain('planted-in-env')
    const names = await typist.type(`${inMesh} exec mesh-0 -- flotilla credentials list`)
    expect(names).toContain('planted')
    expect(await typist.type(`${inMesh} exec mesh-0 -- flotilla journal verify`)).toContain('is intact')
    // The volume of the backup was deleted with the pod that waited.
    const isGone = async () =>
      !(await namesIn(ownNamespace, 'persistentvolumeclaims')).includes('mesh-0-backup')
    await until(isGone, patient(60_000), 'the volume of the backup is gone')
  },
  patient(500_000),
)

it(
  'a fleet in the cluster is copied out while it goes on, and is not restored over or reset while its mesh works',
  async () => {
    const refused = await typist.try(line('enter', 'flotilla restore').replace('/backup/fleet', '/tmp/fleet'))
    expect(refused.code).not.toBe(0)
    expect(refused.said).toContain('a mesh already runs on')
    expect(refused.said).toContain('deploy/kubernetes/restore.yaml')
    const kept = await typist.try(block('empty')[0] ?? '')
    expect(kept.code).not.toBe(0)
    expect(kept.said).toContain('is still running')
    expect(kept.said).toContain('deploy/kubernetes/restore.yaml')
    const said = await typist.type(block('copy'))
    expect(said).toContain('The backup is complete: 2 agents')
    expect(await keptBy(people, 'true')).toContain(String.raw`kept\nof the cluster`)
  },
  patient(240_000),
)

it(
  'a fleet in the cluster is restored anew where a fleet was, and again where that was cut off',
  async () => {
    const [bring, restore] = [line('enter', 'cat > /backup'), line('enter', 'flotilla restore')]
    await typist.type([...waiting(), bring])
    const full = await typist.try(restore)
    expect(full.code).not.toBe(0)
    expect(full.said).toContain('is not empty')
    expect(full.said).toContain('flotilla reset')
    expect(await agentClaims()).not.toEqual([])
    await typist.type(block('empty'))
    // Nothing of that fleet is left: no pod, no claim, no secret, no lease.
    const leases = '/apis/coordination.k8s.io/v1'
    await until(async () => (await agentClaims()).length === 0, patient(60_000), 'claims are gone')
    expect(await namesIn('flotilla', 'pods')).toEqual([])
    expect(await namesIn('flotilla', 'leases', leases)).toEqual([])

    const cut = typist.try(restore)
    await until(async () => (await agentClaims()).length > 0, patient(60_000), 'an agent has a claim')
    await typist.type(`${inMesh} delete pod mesh-0`)
    expect((await cut).code).not.toBe(0)
    const [lease = ''] = await namesIn('flotilla', 'leases', leases)
    const half = await agentClaims()
    // A mesh refuses to start on an incomplete restore, and its pod is replaced by one that waits.
    await typist.type([line('enter', 'rollout'), working()[0] ?? ''])
    const refuses = async () => (await typist.try(`${inMesh} logs mesh-0`)).said.includes('was interrupted')
    await until(refuses, patient(120_000), 'the mesh does not begin')
    await typist.type([line('enter', 'restore.yaml'), `${inMesh} delete pod mesh-0`])
    const startedAt = performance.now()
    await typist.type([line('enter', 'rollout'), bring, restore])
    tell(`a restore after one that was cut off took ${since(startedAt)} s`)
    const claims = await agentClaims()
    expect(claims.filter((name) => half.includes(name))).toEqual([])
    expect(claims.length).toBeGreaterThan(0)
    // One home was created, and the lease of the other was deleted with it.
    const now = await namesIn('flotilla', 'leases', leases)
    expect(now).toHaveLength(1)
    expect(now).not.toContain(lease)

    const { uid } = pod.metadata
    await typist.type(working())
    pod = await meshReady(uid, patient(60_000))
    const kept = await keptBy(people, 'echo of the cluster again >> made/note')
    expect(kept).toContain(String.raw`kept\n/usr/bin/env\n750`)
    expect(kept).not.toContain('of the cluster')
    expect(await runIds()).toEqual(expect.arrayContaining([...before]))
  },
  patient(600_000),
)

it(
  'a fleet in the cluster goes back to one machine with what it did in the cluster',
  async () => {
    const ids = await runIds()
    const home = join(folder, 'home-again')
    // Containers of this machine cannot reach a mesh in the cluster's network, so the agents run as plain
    // processes.
    const onMachine = (one: string) =>
      one.replace('/srv/fleet', home).replace('--runtime docker', '--runtime process')
    expect(block('back').some((one) => one !== onMachine(one))).toBe(true)
    const said = await typist.type(block('back').map(onMachine))
    expect(said).toContain('The backup is complete: 2 agents')
    const last = openMesh(home, { runtime: 'process' })
    try {
      await last.restart()
      expect(await keptBy(last, 'true')).toContain(String.raw`kept\nof the cluster again\n/usr/bin/env\n750`)
      expect((await last.runs()).map(({ id }) => id)).toEqual(expect.arrayContaining([...ids]))
    } finally {
      await last.stop()
    }
  },
  patient(300_000),
)

it(
  'a fleet in the cluster is the same with the chart',
  async () => {
    await clearAway()
    const [waits = '', works = ''] = block('chart')
    await typist.type([waits, line('enter', 'rollout'), line('enter', 'cat > /backup')])
    expect(await typist.type(line('enter', 'flotilla restore'))).toContain('is restored: 2 agents')
    const waited = (await readMesh())?.metadata.uid ?? ''
    await typist.type([works, line('enter', 'rollout')])
    pod = await meshReady(waited, patient(60_000))
    expect(await keptBy(people, 'true')).toContain(String.raw`kept\n/usr/bin/env\n750`)
  },
  patient(400_000),
)

const since = (startedAt: number): string => ((performance.now() - startedAt) / 1_000).toFixed(0)
