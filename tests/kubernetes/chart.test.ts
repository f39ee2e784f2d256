import { execFile } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { repositoryRoot } from '../support/mesh-process.ts'
import { manifestsOf, type Manifest } from './mesh-rights.ts'

/** The chart, which the tests render with Helm itself. */
const chart = join(repositoryRoot, 'deploy', 'kubernetes', 'chart')

async function rendered(...settings: readonly string[]): Promise<readonly Manifest[]> {
  const sets = settings.flatMap((setting) => ['--set', setting])
  const { stdout } = await promisify(execFile)(process.env['FLOTILLA_TEST_HELM'] ?? '', [
    'template',
    'fleet',
    chart,
    // A Helm binary that was not built by the Helm project assumes an old Kubernetes version.
    '--kube-version=1.35.4',
    ...sets,
  ])
  return parseAllDocuments(stdout)
    .map((document): unknown => document.toJS())
    .filter((document): document is Manifest => document !== null)
}

const nameOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`
const byName = (manifests: readonly Manifest[]) =>
  Object.fromEntries(manifests.map((manifest) => [nameOf(manifest), manifest]))

it('the chart makes the plain manifests where nothing else is said', async () => {
  expect(byName(await rendered())).toEqual(byName(await manifestsOf('deploy', 'kubernetes', 'flotilla.yaml')))
})

it('the chart has the pod of the mesh wait where a backup is to be restored, as the plain manifest does', async () => {
  const plain = byName(await manifestsOf('deploy', 'kubernetes', 'flotilla.yaml'))
  const waiting = byName(await manifestsOf('deploy', 'kubernetes', 'restore.yaml'))
  expect(byName(await rendered('restore.enabled=true'))).toEqual({ ...plain, ...waiting })
})

it('the chart gives two fleets nothing in common', async () => {
  const [one, two] = await Promise.all([
    rendered(),
    rendered('mesh.namespace=second-mesh', 'agents.namespace=second', 'profiles.enabled=false'),
  ])
  const names = new Set(one.map(nameOf))
  expect(two.map(nameOf).filter((name) => names.has(name))).toEqual([])
  expect(JSON.stringify(two)).not.toMatch(/"(?:name|namespace|value)":"flotilla(?:-mesh)?"/)
})

it('the chart opens a way for people from outside only where a host is named, and never without TLS', async () => {
  const kinds = (manifests: readonly Manifest[]) => manifests.map(({ kind }) => kind)
  expect(kinds(await rendered())).not.toContain('Ingress')
  const ways = await rendered('ingress.host=fleet.example', 'ingress.className=nginx')
  const way = ways.find(({ kind }) => kind === 'Ingress')
  expect(way).toMatchObject({
    spec: {
      ingressClassName: 'nginx',
      tls: [{ hosts: ['fleet.example'], secretName: 'fleet-tls' }],
      rules: [{ host: 'fleet.example' }],
    },
  })
})

it('the chart asks for the storage class that is named', async () => {
  for (const [waits, claims] of [
    [false, 1],
    [true, 2],
  ] as const) {
    const manifests = await rendered('mesh.storageClass=fast', `restore.enabled=${waits}`)
    const mesh = JSON.stringify(manifests.find(({ kind }) => kind === 'StatefulSet'))
    expect(mesh.split('"storageClassName":"fast"')).toHaveLength(claims + 1)
  }
})
