import { upTo } from '@flotilla/protocol/up-to'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { formatDuration, formatMoment, formatTokens, formatUsd } from '../data/format.ts'
import { saveFile } from '../data/save-file.ts'
import { useChoice } from '../data/use-choice.ts'
import { useAction, useMesh, useServices } from '../data/use-mesh.ts'
import { Act } from '../design/act.tsx'
import { CopyButton } from '../design/copy-button.tsx'
import { MarkdownText } from '../design/markdown-text.tsx'
import { FailureNote } from '../design/repair.tsx'
import { Badge, Card, Code, Dot, Empty, Failed, Loading, PageHead } from '../design/parts.tsx'
import { drawEvent, runTone } from '../live/draw-event.ts'
import { AskedHeartbeat } from './run/asked-heartbeat.tsx'
import { ChangedFilesCard } from './run/changed-files-card.tsx'
import { CompareDialog, ComparedCard } from './run/compared-card.tsx'
import { ComparisonCard, playsAgain } from './run/comparison-card.tsx'
import { ReplayCard } from './run/replay-card.tsx'
import { TraceCard } from './run/trace-card.tsx'
import { NextStepLine } from './next-step-line.tsx'
import { describeRunInput, titleOfRun } from './describe-run-input.ts'
import { formatOrigin } from '@flotilla/protocol/format-actor'

/** The longest part of the question in the title of its run, in characters; a card shows it whole. */
const titleMaxChars = 200

export function RunPage({ id }: { readonly id: string }) {
  const found = useMesh('run', { params: { id } })
  const cancel = useAction('runCancel', { stale: ['run', 'runs'] })
  const run = found.data
  const [{ with: otherId }, choose] = useChoice(['with'])
  const [choosing, setChoosing] = useState(false)
  const title = run && titleOfRun(run).slice(0, titleMaxChars)
  useEffect(() => {
    if (title !== undefined) document.title = `${title} · Flotilla`
  }, [title, id])
  return (
    <div className="page">
      <PageHead
        title={
          <span className="two-lines" title={run && titleOfRun(run)}>
            {title ?? id}
          </span>
        }
      >
        {run && <Badge tone={runTone(run.state)}>{run.state}</Badge>}
        {run && !isTerminal(run.state) && (
          <Act
            call="runCancel"
            agent={run.agent_id}
            className="button"
            disabled={cancel.isPending}
            onClick={() => cancel.mutate({ params: { id } })}
          >
            Stop
          </Act>
        )}
        {run && <RunTools run={run} onCompare={() => setChoosing(true)} />}
        <Link href="/runs" className="button quiet">
          All runs
        </Link>
      </PageHead>
      {found.isPending && <Loading />}
      {found.error && <Failed error={found.error} retry={found.refetch} />}
      {run && !isTerminal(run.state) && (
        <p role="status">
          This run <NextStepLine run={run} />
        </p>
      )}
      {run?.outcome && run.outcome.status !== 'done' && <OutcomeCard run={run} outcome={run.outcome} />}
      {run && <TraceCard key={run.id} runId={run.id} />}
      {run && (
        <div className="two">
          <div className="stack">
            <Card title="Asked">
              {run.input.kind === 'task' ? (
                <AskedTask id={run.input.task_id} />
              ) : run.input.kind === 'heartbeat' ? (
                <AskedHeartbeat message={run.input.message} />
              ) : (
                <div className="body plain-text">{describeRunInput(run)}</div>
              )}
            </Card>
            {run.outcome?.status === 'done' && <OutcomeCard run={run} outcome={run.outcome} />}
            {!playsAgain(run) && <ChangedFilesCard run={run} />}
            {playsAgain(run) && isTerminal(run.state) && <ComparisonCard run={run} />}
          </div>
          <Facts run={run} />
        </div>
      )}
      {run && otherId !== '' && (
        <ComparedCard key={otherId} run={run} otherId={otherId} onClose={() => choose('with', '')} />
      )}
      {run && choosing && (
        <CompareDialog
          run={run}
          onClose={() => setChoosing(false)}
          onChoose={(id) => {
            setChoosing(false)
            choose('with', id)
          }}
        />
      )}
      {run && isTerminal(run.state) && run.kind !== 'tool' && !playsAgain(run) && (
        <ReplayCard key={`record of ${run.id}`} run={run} />
      )}
      {run && <Happened run={run} />}
    </div>
  )
}

/** The answer of a run, or why it did not finish, with what repairs it. */
function OutcomeCard({
  run,
  outcome,
}: {
  readonly run: RunView
  readonly outcome: NonNullable<RunView['outcome']>
}) {
  const { status, code, text, result } = outcome
  return (
    <Card
      title={status === 'done' ? 'Answer' : 'Why it did not finish'}
      more={code === undefined ? null : <Badge tone="bad">{code}</Badge>}
    >
      <div className="body stack">
        {status === 'done' ? (
          <MarkdownText text={text} />
        ) : (
          <FailureNote
            text={text}
            code={code}
            of={{ agent: run.agent_id }}
            tone={status === 'cancelled' ? 'warn' : 'bad'}
          />
        )}
        {result !== undefined && <Code value={result} label="Result" />}
      </div>
    </Card>
  )
}

/** Buttons that share, export and compare a run. */
function RunTools({ run, onCompare }: { readonly run: RunView; readonly onCompare: () => void }) {
  const { client, toasts } = useServices()
  const [busy, setBusy] = useState(false)
  const params = { id: run.id }
  async function save(): Promise<void> {
    setBusy(true)
    try {
      const [trace, { events }] = await Promise.all([
        client.call('runTrace', { params }),
        client.call('runEvents', { params }),
      ])
      saveFile(`${run.id}.json`, `${JSON.stringify({ run, trace, events }, null, 2)}\n`)
    } catch (error) {
      toasts.fail(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <CopyButton text={() => window.location.href} what="to this run" className="button" label="Copy link" />
      <button type="button" className="button" disabled={busy} onClick={() => void save()}>
        Export JSON
      </button>
      <button type="button" className="button" onClick={onCompare}>
        Compare …
      </button>
    </>
  )
}

/** Shows the task that the agent was given, with a link to it. */
function AskedTask({ id }: { readonly id: string }) {
  const found = useMesh('task', { params: { id } })
  const task = found.data?.task
  return (
    <div className="body stack tight">
      <Link href={`/work/tasks/${id}`}>{task === undefined ? `Task ${id}` : `Task: ${task.title}`}</Link>
      {task !== undefined && task.description !== '' && <p className="plain-text">{task.description}</p>}
    </div>
  )
}

function Facts({ run }: { readonly run: RunView }) {
  const { started_at: started, ended_at: ended, origin } = run
  const facts: readonly (readonly [string, React.ReactNode])[] = [
    ['Agent', <Link href={`/chat/${run.agent_id}`}>{run.agent_id}</Link>],
    ['Run', <span className="mono small">{run.id}</span>],
    ['Kind', run.kind],
    ['From', formatOrigin(origin)],
    ['Asked', formatMoment(run.created_at)],
    ['Waited', started === null ? 'still waits' : formatDuration(started - run.created_at)],
    ['Took', started === null || ended === null ? 'not ended' : formatDuration(ended - started)],
    [
      'Cost',
      `${upTo(formatUsd(run.cost_usd), run.unconfirmed_usd)} for ${upTo(formatTokens(run.tokens_used), run.unconfirmed_tokens)} ${run.tokens_used === 1 ? 'token' : 'tokens'}`,
    ],
    ...(run.reported_tokens === 0
      ? []
      : [
          [
            'Unpriced',
            `${formatTokens(run.reported_tokens)} of these tokens, reported by the harness`,
          ] as const,
        ]),
    ['Attempt', String(run.attempt)],
    ...(run.input.kind === 'chat' ? [['Conversation', run.input.session] as const] : []),
    ...(run.parent_id === null
      ? []
      : [['Asked by', <Link href={`/runs/${run.parent_id}`}>{run.parent_id}</Link>] as const]),
    ...(run.waiting_on.length === 0 ? [] : [['Waits for', run.waiting_on.join(', ')] as const]),
    ['Trace', <span className="mono small">{run.trace_id}</span>],
  ]
  return (
    <Card title="Facts">
      <dl className="facts body">
        {facts.map(([name, value]) => (
          <Fact key={name} name={name} value={value} />
        ))}
      </dl>
    </Card>
  )
}

function Fact({ name, value }: { readonly name: string; readonly value: React.ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="number">{value}</dd>
    </>
  )
}

/** The events of the run, with the time since its start. */
function Happened({ run }: { readonly run: RunView }) {
  const events = useMesh('runEvents', { params: { id: run.id } })
  return (
    <Card title="What happened">
      {events.isPending && <Loading />}
      {events.error && <Failed error={events.error} retry={events.refetch} />}
      {events.data && events.data.events.length === 0 && (
        <Empty title={events.data.forgotten ? 'No longer kept' : 'Nothing yet'}>
          {events.data.forgotten
            ? 'Events are stored for a limited time. The journal keeps decisions and effects permanently.'
            : 'Steps appear here as they happen.'}
        </Empty>
      )}
      <ol className="timeline">
        {events.data?.events.map(({ seq, at, body }) => {
          const { tone, what } = drawEvent(body)
          return (
            <li key={seq}>
              <span className="muted number small">+{formatDuration(Math.max(0, at - run.created_at))}</span>
              <span className="row small only-wide">
                <Dot tone={tone} />
                {body.type.split('.')[0]}
              </span>
              {body.type === 'tool.started' || body.type === 'tool.ended' ? (
                <details>
                  <summary className="clip">{what}</summary>
                  <Code
                    value={body.type === 'tool.started' ? body.input : body.output}
                    label={`${body.type === 'tool.started' ? 'Arguments' : 'Result'} of ${body.name}`}
                  />
                </details>
              ) : (
                <span className="plain-text">{what}</span>
              )}
            </li>
          )
        })}
      </ol>
      {events.data?.more && <p className="small muted body">The run has more events than are shown.</p>}
    </Card>
  )
}
