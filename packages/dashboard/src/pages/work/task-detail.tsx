import { isUnconfirmed, withoutUnconfirmedNote } from '@flotilla/protocol/task-actions'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { TaskDetailView } from '@flotilla/protocol/task-api'
import { formatMoment, formatUsd } from '../../data/format.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { Markdown } from '../../design/markdown.tsx'
import { Badge, Card, Code, Failed, Loading } from '../../design/parts.tsx'
import { FailureNote } from '../../design/repair.tsx'
import { TaskButtons } from './task-buttons.tsx'
import { describeTaskStep } from './describe-task-step.ts'
import { givenAnew, outcomeTone, taskTone } from './task-offers.ts'
import { tasksListed } from './tasks-view.tsx'
import { formatActor } from '@flotilla/protocol/format-actor'

export function TaskDetail({ id }: { readonly id: string }) {
  const found = useMesh('task', { params: { id } })
  const others = useMesh('tasks', { query: { limit: tasksListed } })
  const failure = useRunFailure(found.data?.task)
  if (found.isPending) return <Loading />
  if (found.error) return <Failed error={found.error} retry={found.refetch} />
  const { task } = found.data
  // The summary of a task that a problem stopped is this problem, without its repair.
  const isSameWords = failure !== null && task.summary === `${failure.code}: ${failure.text}`
  return (
    <>
      <div className="row">
        <h2 className="clip">{task.title}</h2>
        <Badge tone={taskTone(task.state)}>{task.state}</Badge>
        {isUnconfirmed(task) && <Badge tone="warn">unconfirmed</Badge>}
        {task.outcome !== null && <Badge tone={outcomeTone(task.outcome)}>{task.outcome}</Badge>}
      </div>
      <TaskButtons task={task} again={givenAnew(others.data?.tasks ?? [])} />
      <div className="two">
        <div className="stack">
          {task.description !== '' && (
            <Card title="What was asked">
              <div className="body">
                <Markdown text={task.description} />
              </div>
            </Card>
          )}
          {task.summary !== null && !isSameWords && (
            <Card title={task.state === 'blocked' ? 'What it waits for' : 'Result'}>
              <div className="body stack">
                <Markdown text={withoutUnconfirmedNote(task.summary)} />
                {task.result !== null && <Code value={task.result} label="Result" />}
              </div>
            </Card>
          )}
          {failure !== null && <WhyRunFailed task={task} failure={failure} />}
          {task.feedback !== null && task.feedback !== '' && (
            <Card title="Review">
              <p className="body plain-text">{task.feedback}</p>
            </Card>
          )}
          <History history={found.data.history} />
        </div>
        <Facts detail={found.data} />
      </div>
    </>
  )
}

interface RunFailure {
  readonly text: string
  readonly code: string
}

/** Returns the failure of the run that worked on an unfinished task; null without one. */
function useRunFailure(task: TaskDetailView['task'] | undefined): RunFailure | null {
  const isOpen = task?.state === 'blocked' || task?.state === 'failed'
  const runId = task?.run_id ?? null
  const found = useMesh('run', { params: { id: runId ?? '' } }, { enabled: isOpen && runId !== null })
  const outcome = found.data?.outcome
  if (!isOpen || outcome === undefined || outcome === null || outcome.code === undefined) return null
  return { text: outcome.text, code: outcome.code }
}

/** Shows the failure of a task's run with its repair. */
function WhyRunFailed({
  task,
  failure: { text, code },
}: {
  readonly task: TaskDetailView['task']
  readonly failure: RunFailure
}) {
  return (
    <Card title="Why its run did not finish">
      <div className="body">
        <FailureNote text={text} code={code} of={{ agent: task.assignee, run: task.run_id ?? undefined }} />
      </div>
    </Card>
  )
}

function Facts({ detail: { task, children } }: { readonly detail: TaskDetailView }) {
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Id', <span className="mono small">{task.id}</span>],
    ['From', formatActor(task.creator)],
    ['To', <Link href={`/chat/${task.assignee}`}>{task.assignee}</Link>],
    ...(task.project === null
      ? []
      : [['Project', <Link href={`/work/projects/${task.project}`}>{task.project}</Link>] as const]),
    ...(task.waits_for === null ? [] : [['Waits for', task.waits_for] as const]),
    ...(task.blocked_by === null ? [] : [['Blocked by', task.blocked_by] as const]),
    ...(task.progress === null ? [] : [['Progress', task.progress] as const]),
    ['Round', String(task.round)],
    ...(task.run_id === null
      ? []
      : [['Run', <Link href={`/runs/${task.run_id}`}>{task.run_id}</Link>] as const]),
    ...taskLinks('Part of', task.parent_task_id === null ? [] : [task.parent_task_id]),
    ...taskLinks('Repeats', task.previous_task_id === null ? [] : [task.previous_task_id]),
    ...taskLinks('Needs', task.needs),
    ...taskLinks('Handed on', children),
    ...(task.artifacts.length === 0
      ? []
      : [
          [
            'Files',
            <Link href="/work/artifacts">
              {task.artifacts.map((one) => `${one.agent_id}/${one.name}`).join(', ')}
            </Link>,
          ] as const,
        ]),
    ...(task.max_cost_usd === null ? [] : [['May use', formatUsd(task.max_cost_usd)] as const]),
    ['Given', formatMoment(task.created_at)],
    ...(task.outcome_by === null ? [] : [['Judged by', formatActor(task.outcome_by)] as const]),
  ]
  return (
    <Card title="Facts">
      <dl className="facts body">
        {facts.map(([name, value]) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd className="number">{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}

function taskLinks(name: string, ids: readonly string[]): readonly (readonly [string, ReactNode])[] {
  if (ids.length === 0) return []
  const links = ids.map((id) => (
    <div key={id}>
      <Link href={`/work/tasks/${id}`}>{id}</Link>
    </div>
  ))
  return [[name, links]]
}

function History({ history }: { readonly history: TaskDetailView['history'] }) {
  return (
    <Card title="History">
      <ol className="timeline of-moments">
        {history.map(({ at, actor, action, state, words }) => (
          // Time, action and actor together identify a step of a task.
          <li key={`${at}:${action}:${formatActor(actor)}`}>
            <span className="muted number small">{formatMoment(at)}</span>
            <span className="small only-wide">
              <Badge tone={taskTone(state)}>{state}</Badge>
            </span>
            <span className="plain-text">
              <strong>{formatActor(actor)}</strong> {describeTaskStep(action)}
              {words !== '' && <span className="muted"> — {words}</span>}
            </span>
          </li>
        ))}
      </ol>
    </Card>
  )
}
