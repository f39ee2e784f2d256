import { Link } from 'wouter'
import { replaySessionPattern } from '@flotilla/protocol/replay-endpoints'
import type { RunView } from '@flotilla/protocol/run'
import { formatCount } from '../../data/format.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { Badge, Card, Code, Failed, Loading } from '../../design/parts.tsx'

/** Whether the run is a replay of another run. Pure. */
export function playsAgain({ input }: RunView): boolean {
  return input.kind === 'chat' && replaySessionPattern.test(input.session)
}

/** Shows where a replay or a fork differs from its original run. */
export function ComparisonCard({ run }: { readonly run: RunView }) {
  const found = useMesh('runComparison', { params: { id: run.id } })
  if (found.isPending) return <Loading rows={2} />
  if (found.error) return <Failed error={found.error} retry={found.refetch} />
  const { kind, of_run: of, model, turn, turns, steps, calls, same, differences } = found.data
  return (
    <Card
      title={
        kind === 'replay' ? `Replay of turn ${turn} of ${turns}` : `Fork with ${model ?? 'another model'}`
      }
      more={<Badge tone={same ? 'ok' : 'warn'}>{same ? 'same' : 'different'}</Badge>}
    >
      <div className="body stack">
        <p className="muted">
          {formatCount(steps, 'step')} and {formatCount(calls, 'call')} of{' '}
          <Link href={`/runs/${of}`}>{of}</Link>
        </p>
        {differences.map((difference, index) => (
          // The index is the key, because differences have no ids.
          <details key={index} className="tool">
            <summary>
              <Badge>{difference.step === 0 ? 'end' : `step ${difference.step}`}</Badge>
              <span>{difference.what}</span>
              <span className="clip muted">{difference.detail}</span>
            </summary>
            <div className="inside">
              <p className="plain-text">{difference.detail}</p>
              {difference.before !== null && <Code value={difference.before} label="Then" />}
              {difference.after !== null && <Code value={difference.after} label="Now" />}
            </div>
          </details>
        ))}
      </div>
    </Card>
  )
}
