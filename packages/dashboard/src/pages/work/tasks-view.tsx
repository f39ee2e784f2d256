import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef, useState } from 'react'
import { Link } from 'wouter'
import { isUnconfirmed, taskStates } from '@flotilla/protocol/task-actions'
import type { TaskView } from '@flotilla/protocol/task'
import { useChoice } from '../../data/use-choice.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { useNow } from '../../data/use-now.ts'
import { Act } from '../../design/act.tsx'
import { Choice } from '../../design/choice.tsx'
import { Ago, Badge, Empty, Failed, Loading } from '../../design/parts.tsx'
import { RepairLink } from '../../design/repair.tsx'
import { SeveralTasks } from './several-tasks.tsx'
import { TaskButtons } from './task-buttons.tsx'
import { columnsOf, givenAnew, outcomeTone, taskTone } from './task-offers.ts'
import { describeTask } from './describe-task.ts'
import { formatActor } from '@flotilla/protocol/format-actor'

/** The maximum number of tasks that are read, newest first. */
export const tasksListed = 500
/** The maximum number of cards in one column of the board; the list shows all tasks. */
const cardsMax = 40
const rowHeightPx = 44
/** How often times in words, such as when a budget resets, are written anew, in milliseconds. */
const nowEveryMs = 60_000

/** Tasks as a board or as a list. */
export function TasksView() {
  const [chosen, choose] = useChoice(['as', 'agent', 'project', 'state', 'find'])
  const { as, agent, project, state, find } = chosen
  const tasks = useMesh('tasks', {
    query: {
      limit: tasksListed,
      ...(agent === '' ? {} : { agent }),
      ...(project === '' ? {} : { project }),
    },
  })
  const status = useMesh('status')
  const projects = useMesh('projects')
  const [isChoosing, setChoosing] = useState(false)
  const isList = as === 'list'
  const all = tasks.data?.tasks ?? []
  const again = givenAnew(all)
  const shown = all.filter((task) => (!isList || state === '' || task.state === state) && matches(task, find))
  return (
    <>
      <div className="row">
        <div className="row" role="group" aria-label="Shown as">
          {(['', 'list'] as const).map((one) => (
            <button
              key={one}
              type="button"
              className="button"
              aria-pressed={as === one}
              onClick={() => choose('as', one)}
            >
              {one === '' ? 'Board' : 'List'}
            </button>
          ))}
        </div>
        <input
          className="input"
          type="search"
          placeholder="Search"
          aria-label="Search tasks"
          value={find}
          onChange={(event) => choose('find', event.target.value)}
        />
        <Choice
          name="Agent"
          value={agent}
          of={(status.data?.agents ?? []).map(({ id }) => id)}
          onChange={(value) => choose('agent', value)}
        />
        <Choice
          name="Project"
          value={project}
          of={(projects.data?.projects ?? []).map(({ name }) => name)}
          onChange={(value) => choose('project', value)}
        />
        {isList && (
          <Choice name="State" value={state} of={taskStates} onChange={(value) => choose('state', value)} />
        )}
        {shown.length > 1 && (
          <Act call="taskManage" className="button" onClick={() => setChoosing(true)}>
            Several …
          </Act>
        )}
      </div>
      {isChoosing && <SeveralTasks tasks={shown} again={again} onClose={() => setChoosing(false)} />}
      {tasks.isPending && <Loading />}
      {tasks.error && <Failed error={tasks.error} retry={tasks.refetch} />}
      {tasks.isSuccess && shown.length === 0 && (
        <section className="card" aria-label="Tasks">
          <Empty title={all.length === 0 ? 'No task yet' : 'No task matches'}>
            {all.length === 0
              ? 'A task is work with a result: a person or an agent gives it, an agent delivers, and you review the result. Give one above, or let agents hand off work to each other.'
              : 'Choose another agent or project, or other words.'}
          </Empty>
        </section>
      )}
      {shown.length > 0 && !isList && <Board tasks={shown} again={again} />}
      {shown.length > 0 && isList && <List tasks={shown} />}
      {all.length === tasksListed && (
        <p className="small muted">
          The newest {tasksListed} tasks are shown. Choose an agent for older ones.
        </p>
      )}
    </>
  )
}

function Board({
  tasks,
  again,
}: {
  readonly tasks: readonly TaskView[]
  readonly again: ReadonlySet<string>
}) {
  return (
    <div className="board" tabIndex={0} role="region" aria-label="Board">
      {columnsOf(tasks).map(({ state, tasks: ofState }) => (
        <section
          key={state}
          className={ofState.length === 0 ? 'column is-empty' : 'column'}
          aria-label={`Tasks that are ${state}`}
        >
          <h2>
            <Badge tone={taskTone(state)}>{state}</Badge>
            <span className="small muted number">{ofState.length}</span>
          </h2>
          {ofState.slice(0, cardsMax).map((task) => (
            <TaskCard key={task.id} task={task} again={again} />
          ))}
          {ofState.length > cardsMax && (
            <Link className="small" href={`/work?as=list&state=${state}`}>
              {ofState.length - cardsMax} more in the list
            </Link>
          )}
        </section>
      ))}
    </div>
  )
}

function TaskCard({ task, again }: { readonly task: TaskView; readonly again: ReadonlySet<string> }) {
  const { words, code } = describeTask(task, useNow(nowEveryMs))
  return (
    <article className="task-card" aria-label={task.title}>
      <Link href={`/work/tasks/${task.id}`} className="task-title">
        {task.title}
      </Link>
      <div className="row small muted">
        <span>{task.assignee}</span>
        {task.project !== null && <span>· {task.project}</span>}
        <span>
          · <Ago at={task.updated_at} />
        </span>
      </div>
      {task.blocked_by !== null && <Badge tone="warn">{task.blocked_by}</Badge>}
      {isUnconfirmed(task) && <Badge tone="warn">unconfirmed</Badge>}
      {task.outcome !== null && <Badge tone={outcomeTone(task.outcome)}>{task.outcome}</Badge>}
      {words !== '' && <p className="small muted few-lines">{words}</p>}
      {code !== null && (
        <RepairLink code={code} of={{ agent: task.assignee, run: task.run_id ?? undefined }} />
      )}
      <TaskButtons task={task} again={again} />
    </article>
  )
}

function List({ tasks }: { readonly tasks: readonly TaskView[] }) {
  const box = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: tasks.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeightPx,
    overscan: 12,
  })
  return (
    <section className="card" aria-label="Tasks">
      <div className="list-row list-head task-row" aria-hidden="true">
        <span>State</span>
        <span>Task</span>
        <span className="only-wide">To</span>
        <span className="only-wide">From</span>
        <span className="only-wide">Project</span>
        <span className="only-wide">Verdict</span>
        <span className="only-wide">Changed</span>
      </div>
      <div className="list-scroll" ref={box}>
        <div className="list-rows" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const task = tasks[index]
            if (!task) return null
            return (
              <Link
                key={task.id}
                href={`/work/tasks/${task.id}`}
                className="list-row task-row"
                style={{ transform: `translateY(${start}px)` }}
              >
                <span>
                  <Badge tone={taskTone(task.state)}>{task.state}</Badge>
                </span>
                <span className="clip">
                  <span className="only-narrow muted">{task.assignee} · </span>
                  {task.title}
                </span>
                <span className="clip only-wide">{task.assignee}</span>
                <span className="clip muted only-wide">{formatActor(task.creator)}</span>
                <span className="clip muted only-wide">{task.project ?? '—'}</span>
                <span className="only-wide">
                  {task.outcome === null ? (
                    <span className="muted">—</span>
                  ) : (
                    <Badge tone={outcomeTone(task.outcome)}>{task.outcome}</Badge>
                  )}
                </span>
                <span className="muted only-wide">
                  <Ago at={task.updated_at} />
                </span>
              </Link>
            )
          })}
        </div>
      </div>
    </section>
  )
}

function matches(task: TaskView, search: string): boolean {
  if (search === '') return true
  const text = [
    task.id,
    task.title,
    task.description,
    task.assignee,
    formatActor(task.creator),
    task.summary ?? '',
  ]
  return text.join('\n').toLowerCase().includes(search.toLowerCase())
}
