import { useEffect, useRef, useState } from 'react'
import { useMesh } from '../../data/use-mesh.ts'
import { formatLogLine } from './format-log.ts'
import { Card, Empty, Failed, Loading } from '../../design/parts.tsx'

const counts = [100, 200, 500, 1000] as const
/** There is no event for output of a process, so the page polls. */
const everyMs = 2000

/** Shows the last log lines of the agent's process, and new ones as they arrive. */
export function LogsTab({ agentId }: { readonly agentId: string }) {
  const [lines, setLines] = useState<number>(200)
  const [following, setFollowing] = useState(true)
  const box = useRef<HTMLPreElement>(null)
  const logs = useMesh(
    'agentLogs',
    { params: { id: agentId }, query: { lines } },
    { staleTime: 0, refetchInterval: following ? everyMs : false },
  )
  const text = logs.data?.lines.map(formatLogLine).join('\n') ?? ''
  useEffect(() => {
    if (following && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [text, following])
  return (
    <Card
      title="Logs"
      more={
        <div className="row">
          <span className="small muted">Times are UTC</span>
          <select
            className="input"
            aria-label="Lines"
            value={lines}
            onChange={(event) => setLines(Number(event.target.value))}
          >
            {counts.map((count) => (
              <option key={count} value={count}>
                {count} lines
              </option>
            ))}
          </select>
          <button
            type="button"
            className="button"
            aria-pressed={following}
            onClick={() => setFollowing(!following)}
          >
            {following ? 'Following' : 'Follow'}
          </button>
        </div>
      }
    >
      {logs.isPending && <Loading />}
      {logs.error && <Failed error={logs.error} retry={logs.refetch} />}
      {logs.isSuccess && text === '' && (
        <Empty title="The agent printed nothing">An agent prints little while it works normally.</Empty>
      )}
      {text !== '' && (
        // A part that scrolls must be reachable by keyboard.
        <pre
          ref={box}
          className="log-lines"
          tabIndex={0}
          role="log"
          aria-live="off"
          aria-label={`Log of ${agentId}`}
        >
          {text}
        </pre>
      )}
    </Card>
  )
}
