import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import { controlApi, controlEndpoints } from '@flotilla/protocol/control-api'
import { eventually } from './eventually.ts'
import type { MeshProcess } from './mesh-process.ts'

export const moments = ['before', 'after'] as const
/** The moments before and after each of these statements, at which `kill-at-row.mjs` can kill a mesh. */
export const aroundEach = (...statements: readonly string[]) =>
  statements.flatMap((statement) => moments.map((moment) => [moment, statement] as const))

/** The approvals of a mesh that is killed at the statement that the file `arm` names. */
export function approvalsOnKilledMesh(mesh: MeshProcess, arm: string) {
  const killed = async (): Promise<void> => {
    await eventually('the mesh is killed', async () => !existsSync(arm) || null)
    await mesh.kill9().catch(() => undefined)
  }
  return {
    /** The approvals of one effect, which its arguments tell. */
    of: (isOwn: (args: ApprovalView['args']) => boolean) => {
      const approvals = async (): Promise<readonly ApprovalView[]> => {
        const reply = await mesh.call(controlEndpoints.pending, { query: { state: 'all', limit: 200 } })
        const { pending } = controlApi.pending.response.parse(reply.json())
        return (pending as readonly ApprovalView[]).filter(({ args }) => isOwn(args))
      }
      return {
        approvals,
        asked: () => eventually('a person is asked', async () => (await approvals())[0] ?? null),
        askedAgain: () =>
          eventually('a person is asked again', async () =>
            (await approvals()).find(({ state }, at) => at === 0 && state === 'pending'),
          ),
        settled: () =>
          eventually('the approval is decided', async () => {
            const [one] = await approvals()
            return one !== undefined && one.state !== 'pending' && one.state !== 'confirmed' ? one : null
          }),
      }
    },
    confirm: ({ id, digest }: ApprovalView) =>
      mesh.call(controlEndpoints.pendingConfirm, { params: { id }, body: { digest } }),
    reject: ({ id }: ApprovalView) => mesh.call(controlEndpoints.pendingCancel, { params: { id } }),
    killed,
    restarted: async (): Promise<void> => {
      await killed()
      await mesh.restart()
    },
    /** Changes a row as time or another action would, while no mesh runs. */
    changeRow: (id: string, change: string, table: 'approvals' | 'runs' = 'approvals'): void => {
      const database = new DatabaseSync(join(mesh.home, 'data', 'mesh.db'))
      database.prepare(`UPDATE ${table} SET ${change} WHERE id = ?`).run(id)
      database.close()
    },
  }
}
