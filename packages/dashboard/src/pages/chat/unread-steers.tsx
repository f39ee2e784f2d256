import type { RunView } from '@flotilla/protocol/run'
import { useMesh } from '../../data/use-mesh.ts'
import { isOwnSteer } from './own-steer.ts'

/** Messages of this person to the runs of a conversation that work now, until the agent reads them. */
export function UnreadSteers({
  runs,
  runIds,
}: {
  readonly runs: readonly RunView[]
  readonly runIds: ReadonlySet<string>
}) {
  const me = useMesh('me').data
  const waiting = runs
    .filter(({ id }) => runIds.has(id))
    .flatMap(({ steers }) => steers ?? [])
    .filter((steer) => steer.state === 'waiting' && me !== undefined && isOwnSteer(steer, me))
  return waiting.map(({ id, text }) => (
    <li key={id} className="turn">
      <div className="asked plain-text">{text}</div>
      <span className="small muted asked-note">is read before the next step</span>
    </li>
  ))
}
