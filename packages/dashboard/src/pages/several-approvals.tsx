import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import { formatActor } from '@flotilla/protocol/format-actor'
import type { BulkAction, BulkItem } from '../data/bulk-action.ts'
import { requireCarriedOut } from '../data/require-carried-out.ts'
import { useServices } from '../data/use-mesh.ts'
import { BulkDialog } from '../design/bulk-dialog.tsx'

interface ApprovalItem extends BulkItem {
  readonly approval: ApprovalView
}

/** Approves or refuses several actions that agents asked for. */
export function SeveralApprovals({
  approvals,
  onClose,
}: {
  readonly approvals: readonly ApprovalView[]
  readonly onClose: () => void
}) {
  const { client } = useServices()
  const actions: readonly BulkAction<ApprovalItem>[] = [
    {
      name: 'Refuse',
      past: 'refused',
      call: 'pendingCancel',
      effect: 'The agents learn that you refused. They may ask again.',
      why: () => null,
      run: ({ id }) => client.call('pendingCancel', { params: { id } }),
    },
    {
      name: 'Approve',
      past: 'approved',
      call: 'pendingConfirm',
      effect:
        'Each of these actions is carried out at once, exactly as it was asked for. This cannot be undone. An action that was changed since is rejected.',
      danger: true,
      why: () => null,
      run: ({ id, approval: { digest } }) =>
        client.call('pendingConfirm', { params: { id }, body: { digest } }).then(requireCarriedOut),
    },
  ]
  const items = approvals.map((approval) => ({
    id: approval.id,
    title: approval.summary,
    detail: `asked by ${formatActor(approval.asked_by)}`,
    points: [...approval.consequences, ...approval.costs],
    approval,
  }))
  return (
    <BulkDialog
      thing="request"
      items={items}
      actions={actions}
      stale={['pending', 'status']}
      onClose={onClose}
    />
  )
}
