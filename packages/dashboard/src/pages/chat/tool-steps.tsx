import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { tellingArgument } from '@flotilla/client/telling-argument'
import { formatCount, formatDuration } from '../../data/format.ts'
import { useServices } from '../../data/use-mesh.ts'
import { Icon } from '../../design/icons.tsx'
import { Badge, Code } from '../../design/parts.tsx'
import { exitCodeOf, stepTimes } from './step-groups.ts'
import type { ToolBlock, Turn, TurnBlock } from './turn.ts'

const none: ReadonlyMap<TurnBlock, number> = new Map()

/** Returns how long the calls of an ended turn took; the events of its run are requested once. */
export function useStepTimes(
  { blocks, run }: Turn,
  agent: string,
  isShown: boolean,
): ReadonlyMap<TurnBlock, number> {
  const { client } = useServices()
  const id = run?.id ?? ''
  const hasSteps = blocks.some(({ kind }) => kind === 'tool')
  const { data } = useQuery({
    queryKey: ['stepTimes', id],
    queryFn: ({ signal }) => client.call('runEvents', { params: { id }, signal }),
    enabled: isShown && hasSteps && id !== '' && run?.ended_at !== null,
    // The events of an ended run do not change.
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  return useMemo(() => (data ? stepTimes(blocks, data.events, agent) : none), [data, blocks, agent])
}

/** Successive calls as one line: how many they are, how long they took, and how many failed. */
export function ToolSteps({
  tools,
  times,
}: {
  readonly tools: readonly ToolBlock[]
  readonly times: ReadonlyMap<TurnBlock, number>
}) {
  const known = tools.flatMap((tool) => times.get(tool) ?? [])
  const took = known.length === tools.length ? known.reduce((sum, ms) => sum + ms, 0) : null
  const running = tools.find(({ state }) => state === 'running')
  const failed = tools.filter(({ state }) => state === 'failed').length
  return (
    <details className="steps">
      <summary>
        <Icon name="tool" />
        <span>
          {formatCount(tools.length, 'step')}
          {took !== null && `, ${formatDuration(took)}`}
        </span>
        <span className="small muted mono clip">{running?.name ?? namesOf(tools)}</span>
        {running && <Badge tone="busy">running</Badge>}
        {!running && failed > 0 && <Badge tone="bad">{failed} failed</Badge>}
      </summary>
      <div className="inside">
        {tools.map((tool, index) => (
          // Blocks keep their first position, so the index is a stable key.
          <ToolStep key={index} tool={tool} took={times.get(tool)} />
        ))}
      </div>
    </details>
  )
}

function namesOf(tools: readonly ToolBlock[]): string {
  return [...new Set(tools.map(({ name }) => name))].join(', ')
}

const toolBadges = {
  running: { tone: 'busy', word: 'running' },
  done: { tone: 'ok', word: 'done' },
  failed: { tone: 'bad', word: 'failed' },
  stopped: { tone: 'warn', word: 'stopped' },
  unknown: null,
} as const

/** One call, with its duration and exit code if they are known. */
export function ToolStep({ tool, took }: { readonly tool: ToolBlock; readonly took: number | undefined }) {
  const badge = toolBadges[tool.state]
  const exitCode = exitCodeOf(tool)
  return (
    <details className="tool">
      <summary>
        <Icon name="tool" />
        <span className="mono clip">{tool.name}</span>
        {tool.by !== null && <span className="small muted clip">by {tool.by}</span>}
        <span className="small muted clip">{tellingArgument(tool.input)}</span>
        <span className="small muted number step-end">
          {exitCode !== null && `exit ${exitCode}`}
          {exitCode !== null && took !== undefined && ', '}
          {took !== undefined && formatDuration(took)}
        </span>
        {badge && <Badge tone={badge.tone}>{badge.word}</Badge>}
      </summary>
      <div className="inside">
        {tool.input !== '' && (
          <>
            <div className="small muted">Arguments</div>
            <Code value={tool.input} label={`Arguments of ${tool.name}`} />
          </>
        )}
        {tool.output !== null && (
          <>
            <div className="small muted">Result</div>
            <Code value={tool.output} label={`Result of ${tool.name}`} />
          </>
        )}
      </div>
    </details>
  )
}
