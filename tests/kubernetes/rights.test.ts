import { beforeAll, expect, it } from 'vitest'
import { clusterOfThisRun } from './cluster-lane.ts'
import { openApi } from './cluster/api.ts'
import { meshUser } from './cluster/start-cluster.ts'
import { giveMeshRights } from './mesh-rights.ts'

/** What whoever takes over the mesh may do in the cluster, which is what its user may. */
const { mesh } = clusterOfThisRun()
const asMesh = openApi(mesh.files)
const namespace = 'flotilla'
beforeAll(giveMeshRights)

const pod = (spec: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'attempt' },
  spec: { containers: [{ name: 'attempt', image: 'flotilla.local/subject:1' }], ...spec },
})
const binding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'attempt' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: meshUser }],
}

it.each([
  ['read secrets of the cluster', () => asMesh.get('/api/v1/namespaces/kube-system/secrets')],
  ['read secrets of its own namespace', () => asMesh.get(`/api/v1/namespaces/${namespace}/secrets`)],
  ['see pods of others', () => asMesh.get('/api/v1/pods')],
  ['look at another namespace', () => asMesh.get('/api/v1/namespaces/kube-system')],
  ['list namespaces', () => asMesh.get('/api/v1/namespaces')],
  [
    'take its namespace out of its level',
    () =>
      asMesh.patch(`/api/v1/namespaces/${namespace}`, {
        metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } },
      }),
  ],
  ['make a pod elsewhere', () => asMesh.create('/api/v1/namespaces/default/pods', pod({}))],
  [
    'give itself rights',
    () => asMesh.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', binding),
  ],
  ['change a node', () => asMesh.patch('/api/v1/nodes/node-1', { spec: { unschedulable: true } })],
  ['reach into a kubelet', () => asMesh.get('/api/v1/nodes/node-1/proxy/pods')],
  [
    'have a token of an account',
    () =>
      asMesh.create(`/api/v1/namespaces/${namespace}/serviceaccounts/default/token`, {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: {},
      }),
  ],
] as const)('does not let it %s', async (_what, attempt) => {
  await expect(attempt()).rejects.toMatchObject({ status: 403, message: expect.stringContaining('cannot') })
})

it.each([
  ['with a folder of the node', pod({ volumes: [{ name: 'root', hostPath: { path: '/' } }] })],
  ['in the network of the node', pod({ hostNetwork: true })],
  ['that may become root', pod({})],
])('the cluster refuses it a pod %s', async (_what, body) => {
  const attempt = asMesh.create(`/api/v1/namespaces/${namespace}/pods`, body)
  await expect(attempt).rejects.toMatchObject({
    status: 403,
    message: expect.stringContaining('PodSecurity'),
  })
})

it('lets it do what a fleet needs', async () => {
  await expect(asMesh.get('/api/v1/nodes')).resolves.toBeDefined()
  await expect(asMesh.get(`/api/v1/namespaces/${namespace}/pods`)).resolves.toBeDefined()
})
