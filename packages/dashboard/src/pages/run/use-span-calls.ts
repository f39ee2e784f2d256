import { useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { TraceRow } from '@flotilla/client/trace-tree'
import { useServices } from '../../data/use-mesh.ts'
import { callsOfSpans } from './span-calls.ts'
import type { SpanCall } from './span-calls.ts'

/** The maximum number of runs of a trace whose events are requested; rows of the others show only the tool. */
const runsMax = 20

/** Returns the tool calls of a trace by the ids of their spans, as far as their events are stored. */
export function useSpanCalls(rows: readonly TraceRow[]): ReadonlyMap<string, SpanCall> {
  const { client } = useServices()
  const runs = useMemo(() => runsWithCalls(rows), [rows])
  const found = useQueries({
    queries: runs.map((id) => ({
      // The key of `useMesh`, so that the answer to the page's own request is shared.
      queryKey: ['runEvents', { id }, null],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        client.call('runEvents', { params: { id }, signal }),
    })),
    combine: (results) => results.map(({ data }) => data?.events ?? []),
  })
  return useMemo(
    () =>
      new Map(
        runs.flatMap((id, index) => {
          const spans = rows.flatMap(({ span }) => (span.run_id === id ? [span] : []))
          return [...callsOfSpans(spans, found[index] ?? [])]
        }),
      ),
    [rows, runs, found],
  )
}

function runsWithCalls(rows: readonly TraceRow[]): readonly string[] {
  const calling = rows.filter(({ span }) => span.attributes['gen_ai.tool.name'] !== undefined)
  return [...new Set(calling.map(({ span }) => span.run_id))].slice(0, runsMax)
}
