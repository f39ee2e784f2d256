import { useMesh } from '../../data/use-mesh.ts'
import { ArtifactView } from './artifact-view.tsx'
import { savedBy, savingRuns } from './saved-by.ts'

/**
 * Shows the artifacts that other agents saved for an ended run, because the history of the run's agent does not
 * contain them.
 */
export function HandedArtifacts({ runId, agent }: { readonly runId: string; readonly agent: string }) {
  const trace = useMesh('runTrace', { params: { id: runId } }, { staleTime: Number.POSITIVE_INFINITY })
  return savingRuns(trace.data?.spans ?? [], { runId, agent }).map((run) => (
    <SavedIn key={run.runId} runId={run.runId} agent={run.agent} />
  ))
}

function SavedIn({ runId, agent }: { readonly runId: string; readonly agent: string }) {
  const events = useMesh('runEvents', { params: { id: runId } }, { staleTime: Number.POSITIVE_INFINITY })
  return savedBy(events.data?.events ?? []).map((name) => (
    <ArtifactView key={name} agent={agent} name={name} />
  ))
}
