import { Link } from 'wouter'
import { useMesh, useRefusal } from '../data/use-mesh.ts'
import { Reserved } from '../design/act.tsx'
import { Failed, Loading, PageHead } from '../design/parts.tsx'
import { Settled } from './approvals-page.tsx'
import { OpenApproval } from './open-approval.tsx'

/** One action that waits for a person, or was decided; a notification links to it. Opening it decides nothing. */
export function ApprovalPage({ id }: { readonly id: string }) {
  const isOwner = useRefusal({ call: 'pendingOne' }) === null
  const approval = useMesh('pendingOne', { params: { id } }, { enabled: isOwner })
  const isOpen = approval.data?.state === 'pending' || approval.data?.state === 'confirmed'
  return (
    <div className="page">
      <PageHead title="Approval">
        <Link href="/approvals" className="button">
          All approvals
        </Link>
      </PageHead>
      {!isOwner && <Reserved call="pendingOne" title="What an agent asks for" />}
      {isOwner && approval.isPending && <Loading />}
      {approval.error && <Failed error={approval.error} retry={approval.refetch} />}
      {approval.data &&
        (isOpen ? <OpenApproval approval={approval.data} /> : <Settled approvals={[approval.data]} />)}
    </div>
  )
}
