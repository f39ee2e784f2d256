import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import * as z from 'zod'
import { repositoryRoot } from '../support/mesh-process.ts'
import { clusterOfThisRun } from './cluster-lane.ts'
import { ApiRefusal, type Api } from './cluster/api.ts'

const documentSchema = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
})
export type Manifest = z.infer<typeof documentSchema>

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const collections: Readonly<Record<string, (namespace: string) => string>> = {
  Namespace: () => '/api/v1/namespaces',
  ClusterRole: () => `${rbac}/clusterroles`,
  ClusterRoleBinding: () => `${rbac}/clusterrolebindings`,
  Role: (namespace) => `${rbac}/namespaces/${namespace}/roles`,
  RoleBinding: (namespace) => `${rbac}/namespaces/${namespace}/rolebindings`,
  ServiceAccount: (namespace) => `/api/v1/namespaces/${namespace}/serviceaccounts`,
  Service: (namespace) => `/api/v1/namespaces/${namespace}/services`,
  Secret: (namespace) => `/api/v1/namespaces/${namespace}/secrets`,
  StatefulSet: (namespace) => `/apis/apps/v1/namespaces/${namespace}/statefulsets`,
  DaemonSet: (namespace) => `/apis/apps/v1/namespaces/${namespace}/daemonsets`,
  PodDisruptionBudget: (namespace) => `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`,
  NetworkPolicy: (namespace) => `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`,
  Ingress: (namespace) => `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`,
}

/** Path from the root of the repository. */
export async function manifestsOf(...path: readonly string[]): Promise<readonly Manifest[]> {
  const text = await readFile(join(repositoryRoot, ...path), 'utf8')
  return parseAllDocuments(text).map((document) => documentSchema.parse(document.toJS()))
}

/** Like `kubectl create`, but an object that exists is kept. */
export async function apply(
  manifests: readonly Manifest[],
  { api }: { readonly api: Api } = clusterOfThisRun(),
): Promise<void> {
  for (const body of manifests) {
    const collection = collections[body.kind]?.(body.metadata.namespace ?? 'default')
    if (collection === undefined) throw new Error(`nobody knows where a ${body.kind} belongs`)
    await api.create(collection, body).catch((error: unknown) => {
      if (!(error instanceof ApiRefusal && error.status === 409)) throw error
    })
  }
}

/** Applies the rights that the documentation tells an administrator to apply. Idempotent. */
export async function giveMeshRights(to: { readonly api: Api } = clusterOfThisRun()): Promise<void> {
  await apply(await manifestsOf('docs', 'operations', 'kubernetes-rights.yaml'), to)
}
