import type { RunView } from '@flotilla/protocol/run'
import { Link } from 'wouter'
import { useLive, useMesh } from '../data/use-mesh.ts'
import { useOpenApprovals } from '../data/use-open-approvals.ts'
import { useNow } from '../data/use-now.ts'
import { RepairLink } from '../design/repair.tsx'
import { nextStep } from './next-step.ts'

/** Says what happens next with a run, with the link to the page on which a person can act. */
export function NextStepLine({
  run,
  ahead,
}: {
  readonly run: RunView
  readonly ahead?: RunView | undefined
}) {
  const now = useNow(60_000)
  const { delays } = useLive()
  const agent = useMesh('status').data?.agents.find(({ id }) => id === run.agent_id)
  const { carriedOut } = useOpenApprovals()
  const around = { agent, ahead, retryAt: delays.get(run.id), carriedOut, now }
  const { words, link, after } = nextStep(run, around)
  const code = run.outcome?.code
  return (
    <>
      {words} {link && <Link href={link.path}>{link.words}</Link>}
      {after}
      {code !== undefined && <RepairLink code={code} of={{ agent: run.agent_id }} />}
    </>
  )
}
