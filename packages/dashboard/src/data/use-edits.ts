import { useMutation } from '@tanstack/react-query'
import type { AgentEdit, ChangeView } from '@flotilla/protocol/agent-edit'
import { formatField } from './format.ts'
import { useServices } from './use-mesh.ts'
import { withProof } from './with-proof.ts'

const stale = [
  'status',
  'agentConfig',
  'changes',
  'identityFiles',
  'identityFile',
  'permissionOrigins',
  'permissionsExplain',
  'budgets',
  'mcpServers',
] as const

/** Makes several edits of one agent in order; the message above the page undoes all of them, the last edit first. */
export function useEdits(agentId: string) {
  const { client, queries, toasts, proofs } = useServices()
  const makeStale = (): void => {
    for (const name of stale) void queries.invalidateQueries({ queryKey: [name] })
  }
  const undo = async (changes: readonly ChangeView[]): Promise<string> => {
    for (const { undo_token: token } of changes.toReversed()) {
      await withProof(proofs, 'changeUndo', () => client.call('changeUndo', { params: { token } }))
    }
    makeStale()
    return `The change of ${agentId} is undone.`
  }
  return useMutation({
    mutationFn: async (edits: readonly AgentEdit[]) => {
      const changes: ChangeView[] = []
      try {
        for (const body of edits) {
          const parts = { params: { id: agentId }, body }
          changes.push(await withProof(proofs, 'agentEdit', () => client.call('agentEdit', parts)))
        }
      } catch (error) {
        // If a later edit fails, the earlier ones stay, and the message offers to undo them.
        if (changes.length > 0) showSaved(changes)
        throw error
      }
      return changes
    },
    onSuccess: (changes) => showSaved(changes),
    onError: (error) => toasts.fail(error),
    onSettled: makeStale,
  })

  function showSaved(changes: readonly ChangeView[]): void {
    const fields = changes.map(({ field }) => formatField(field)).join(', ')
    const later = changes.some(({ takes_effect: takes }) => takes === 'next-run')
    const message = `${agentId}: ${fields} saved${later ? ', from its next run on' : ''}.`
    toasts.tell(message, () => undo(changes))
  }
}
