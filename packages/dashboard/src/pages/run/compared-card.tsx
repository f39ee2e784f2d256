import { useState } from 'react'
import { Link } from 'wouter'
import type { RunView } from '@flotilla/protocol/run'
import { formatClock } from '../../data/format.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { DiffView } from '../../design/diff-view.tsx'
import { FormDialog } from '../../design/form-dialog.tsx'
import { ChoiceField } from '../../design/fields.tsx'
import { Card, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'
import { titleOfRun } from '../describe-run-input.ts'
import { compareFigures, toolsOf } from './compare-runs.ts'

/** Number of newest runs of the agent that can be chosen. */
const offeredMax = 100
const wordsMaxChars = 60

/** Compares a run with another: what they took, the tools that they called, and their answers. */
export function ComparedCard({
  run,
  otherId,
  onClose,
}: {
  readonly run: RunView
  readonly otherId: string
  readonly onClose: () => void
}) {
  const other = useMesh('run', { params: { id: otherId } })
  const trace = useMesh('runTrace', { params: { id: run.id } })
  const otherTrace = useMesh('runTrace', { params: { id: otherId } })
  const error = other.error ?? trace.error ?? otherTrace.error
  const isReady = other.data !== undefined && trace.data !== undefined && otherTrace.data !== undefined
  const pair = isReady
    ? ([
        { run, spans: trace.data.spans },
        { run: other.data, spans: otherTrace.data.spans },
      ] as const)
    : null
  return (
    <Card
      title="Compared"
      more={
        <button type="button" className="button small quiet" onClick={onClose}>
          Close<span className="hidden-words"> the comparison</span>
        </button>
      }
    >
      {error && <Failed error={error} />}
      {pair === null && !error && <Loading />}
      {pair !== null && (
        <>
          <Table
            label="Table of both runs"
            columns={['Figure', 'This run', 'The other', { right: 'Change' }]}
          >
            <tr>
              <td>Asked</td>
              <td data-label="This run">{titleOfRun(pair[0].run).slice(0, wordsMaxChars)}</td>
              <td data-label="The other">
                <Link href={`/runs/${otherId}`}>{titleOfRun(pair[1].run).slice(0, wordsMaxChars)}</Link>
              </td>
              <td />
            </tr>
            {compareFigures(...pair).map(({ name, one, other: second, change }) => (
              <tr key={name}>
                <td>{name}</td>
                <td className="number" data-label="This run">
                  {one}
                </td>
                <td className="number" data-label="The other">
                  {second}
                </td>
                <td className="right number muted" data-label="Change">
                  {change ?? '–'}
                </td>
              </tr>
            ))}
          </Table>
          <div className="body stack">
            <h3>Tools, in their order</h3>
            <DiffView
              before={toolsOf(pair[0]).join('\n')}
              after={toolsOf(pair[1]).join('\n')}
              label="How the tools of the runs differ"
            />
            <h3>Answers</h3>
            <DiffView
              before={pair[0].run.outcome?.text ?? ''}
              after={pair[1].run.outcome?.text ?? ''}
              label="How the answers of the runs differ"
            />
          </div>
        </>
      )}
    </Card>
  )
}

/** Lets a person choose the run to compare with, among the newest runs of the agent. */
export function CompareDialog({
  run,
  onChoose,
  onClose,
}: {
  readonly run: RunView
  readonly onChoose: (otherId: string) => void
  readonly onClose: () => void
}) {
  const runs = useMesh('runs', { query: { agent: run.agent_id, limit: offeredMax } })
  const [chosen, setChosen] = useState('')
  const offered = (runs.data?.runs ?? []).filter(({ id }) => id !== run.id)
  return (
    <FormDialog
      title="Compare with another run"
      words={`Among the newest runs of ${run.agent_id}.`}
      action="Compare"
      busy={chosen === ''}
      onClose={onClose}
      onSend={() => onChoose(chosen)}
    >
      {runs.error && <Failed error={runs.error} retry={runs.refetch} />}
      <ChoiceField
        label="Run"
        unchosen={offered.length === 0 ? 'There is no other run' : 'Choose a run'}
        value={chosen}
        onChange={setChosen}
        choices={offered.map(
          (one) =>
            [
              one.id,
              `${formatClock(one.created_at)} · ${one.state} · ${titleOfRun(one).slice(0, wordsMaxChars)}`,
            ] as const,
        )}
      />
    </FormDialog>
  )
}
