import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import * as z from 'zod'
import { repositoryRoot } from '../support/mesh-process.ts'
import { clusterOfThisRun } from './cluster-lane.ts'
import { ApiRefusal } from './cluster/api.ts'

const namespace = 'flotilla'
const documentSchema = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
})
const collections: Readonly<Record<string, string>> = {
  Namespace: '/api/v1/namespaces',
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  Role: `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`,
  RoleBinding: `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`,
}

/** Applies what our documentation has an administrator apply. Idempotent. */
export async function giveMeshRights(): Promise<void> {
  const { api } = clusterOfThisRun()
  const text = await readFile(join(repositoryRoot, 'docs', 'operations', 'kubernetes-rights.yaml'), 'utf8')
  for (const document of parseAllDocuments(text)) {
    const body = documentSchema.parse(document.toJS())
    await api.create(collections[body.kind] ?? '', body).catch((error: unknown) => {
      if (!(error instanceof ApiRefusal && error.status === 409)) throw error
    })
  }
}
