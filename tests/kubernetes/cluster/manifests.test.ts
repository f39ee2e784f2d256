import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import * as z from 'zod'
import { clusterImage, meshImage } from '../../../packages/mesh/src/app/choose-cluster.ts'
import { readEnvironment } from '../../../packages/foundation/src/config/environment.ts'
import { meshPodLabels } from '../../../packages/fleet/src/sandbox/kubernetes/network-policies.ts'
import { repositoryRoot } from '../../support/mesh-process.ts'

const textOf = (...path: readonly string[]) => readFileSync(join(repositoryRoot, ...path), 'utf8')
const manifestSchema = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
  rules: z.array(z.unknown()).optional(),
})
const manifestsIn = (...path: readonly string[]) =>
  parseAllDocuments(textOf(...path)).map((document) => manifestSchema.parse(document.toJS()))
const plain = manifestsIn('deploy', 'kubernetes', 'flotilla.yaml')
const list = z.array(z.looseObject({}))
const anything: unknown = expect.anything()
const of = (kind: string) => plain.filter((manifest) => manifest.kind === kind)

it('a mesh in the cluster has the rights of one outside of it, and no others', () => {
  const outside = manifestsIn('docs', 'operations', 'kubernetes-rights.yaml')
  const rulesOf = (manifests: typeof plain, kind: string) =>
    manifests.filter((manifest) => manifest.kind === kind).map(({ rules }) => rules)
  for (const kind of ['Role', 'ClusterRole']) {
    expect(rulesOf(plain, kind)).toEqual(rulesOf(outside, kind))
    expect(rulesOf(plain, kind)).toHaveLength(1)
  }
})

const podSchema = z.looseObject({
  metadata: z.looseObject({ labels: z.record(z.string(), z.string()) }),
  spec: z.looseObject({
    shareProcessNamespace: z.boolean(),
    containers: z.tuple([
      z.looseObject({
        image: z.string(),
        env: z.array(z.strictObject({ name: z.string(), value: z.string() })),
        ports: z.array(z.looseObject({ name: z.string(), containerPort: z.number() })),
      }),
    ]),
  }),
})

it('the mesh’s pod is what this release makes, and what policies of agents look for', () => {
  const [set] = of('StatefulSet')
  const { metadata, spec } = z.looseObject({ spec: z.looseObject({ template: podSchema }) }).parse(set)
    .spec.template
  const [container] = spec.containers
  expect(metadata.labels).toEqual(meshPodLabels)
  expect(container.image).toBe(meshImage)
  // Otherwise the mesh would be the first process of its container and could not end itself by a signal.
  expect(spec.shareProcessNamespace).toBe(true)
  const variables = Object.fromEntries(container.env.map(({ name, value }) => [name, value]))
  expect(variables['FLOTILLA_KUBERNETES_IMAGE']).toBe(clusterImage)
  // The cluster fills in these variables.
  const filled = { ...variables, FLOTILLA_KUBERNETES_SERVICE: '10.96.0.5', FLOTILLA_HOME: '/home' }
  const environment = readEnvironment(filled)
  expect(environment.warnings).toEqual([])
  expect(environment).toMatchObject({
    publicBind: { host: '0.0.0.0', port: 8422 },
    kubernetes: { namespace: 'flotilla', service: '10.96.0.5', storageClass: null, seccomp: 'flotilla.json' },
  })
  expect(container.ports.map(({ containerPort }) => containerPort)).toEqual([8420, 8421, 8422])
})

it('what waits for a backup has the home, the account and the walls of the mesh, and room for the backup', () => {
  const [mesh] = of('StatefulSet')
  const [waiting, ...others] = manifestsIn('deploy', 'kubernetes', 'restore.yaml')
  expect(others).toEqual([])
  const shape = z.looseObject({
    spec: z.looseObject({
      template: z.looseObject({
        spec: z.looseObject({
          containers: z.tuple([z.looseObject({ env: list, volumeMounts: list })]),
          volumes: list,
        }),
      }),
    }),
  })
  const seen = shape.parse(waiting)
  const { spec } = seen.spec.template
  const [container] = spec.containers
  expect(container['command']).toEqual(['sleep', 'infinity'])
  const backup = { name: 'backup', mountPath: '/backup' }
  expect(container.volumeMounts).toContainEqual(backup)
  // Otherwise files that a check of the backup unpacks would fill a volume of limited size.
  expect(container.env).toContainEqual({ name: 'TMPDIR', value: backup.mountPath })
  expect(spec.volumes).toContainEqual(expect.objectContaining({ name: backup.name, ephemeral: anything }))

  delete container['command']
  container.env = container.env.filter((one) => one['name'] !== 'TMPDIR')
  container.volumeMounts = container.volumeMounts.filter((one) => one['name'] !== backup.name)
  spec.volumes = spec.volumes.filter((one) => one['name'] !== backup.name)
  const like = shape.parse(mesh)
  for (const name of ['ports', 'startupProbe', 'livenessProbe', 'readinessProbe'])
    delete like.spec.template.spec.containers[0][name]
  expect(seen).toEqual(like)
})

it('no pod but the one that puts profiles on nodes may be more than an ordinary user', () => {
  const levels = of('Namespace').map(({ metadata }) => {
    const labels = z.record(z.string(), z.string()).parse(metadata['labels'])
    return [metadata.name, labels['pod-security.kubernetes.io/enforce']]
  })
  expect(Object.fromEntries(levels)).toEqual({
    'flotilla-mesh': 'restricted',
    flotilla: 'restricted',
    'flotilla-profiles': 'privileged',
  })
  for (const { kind, metadata } of plain) {
    if (metadata.namespace === 'flotilla-profiles') expect(kind).toBe('DaemonSet')
  }
})

it('the chart is of this release', () => {
  const { version } = z.looseObject({ version: z.string() }).parse(JSON.parse(textOf('package.json')))
  expect(parse(textOf('deploy', 'kubernetes', 'chart', 'Chart.yaml'))).toMatchObject({
    version,
    appVersion: version,
  })
})
