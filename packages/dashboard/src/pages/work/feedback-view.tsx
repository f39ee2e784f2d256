import { Link } from 'wouter'
import { taskOutcomes } from '@flotilla/protocol/task-actions'
import type { TaskView } from '@flotilla/protocol/task'
import { useMesh } from '../../data/use-mesh.ts'
import { Ago, Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'
import { TaskButtons } from './task-buttons.tsx'
import { givenAnew, outcomeTone, taskTone, waitsForVerdict } from './task-offers.ts'
import { tasksListed } from './tasks-view.tsx'
import { formatActor } from '@flotilla/protocol/format-actor'

/** Of each list. */
const shownMax = 60

/** Lists finished tasks that wait for feedback, and the feedback on reviewed tasks. */
export function FeedbackView() {
  const found = useMesh('tasks', { query: { limit: tasksListed } })
  if (found.isPending) return <Loading />
  if (found.error) return <Failed error={found.error} retry={found.refetch} />
  const tasks = found.data.tasks
  const again = givenAnew(tasks)
  const waiting = tasks.filter(waitsForVerdict)
  const judged = tasks.filter(({ outcome }) => outcome !== null)
  return (
    <>
      <Card title="Awaiting your review" more={<span className="small muted number">{waiting.length}</span>}>
        {waiting.length === 0 && (
          <Empty title="Nothing to review">
            When a task ends you review its result. The agent adds the review to its learnings, and repeats
            the task if you ask for rework.
          </Empty>
        )}
        <ul className="items">
          {waiting.slice(0, shownMax).map((task) => (
            <Waiting key={task.id} task={task} again={again} />
          ))}
        </ul>
      </Card>
      {judged.length > 0 && (
        <Card
          title="Reviewed"
          more={
            <span className="row small">
              {taskOutcomes
                .map(
                  (outcome) => [outcome, judged.filter((task) => task.outcome === outcome).length] as const,
                )
                .filter(([, count]) => count > 0)
                .map(([outcome, count]) => (
                  <Badge key={outcome} tone={outcomeTone(outcome)}>
                    {count} {outcome}
                  </Badge>
                ))}
            </span>
          }
        >
          <Judged tasks={judged.slice(0, shownMax)} />
        </Card>
      )}
    </>
  )
}

function Waiting({ task, again }: { readonly task: TaskView; readonly again: ReadonlySet<string> }) {
  return (
    <li className="stack">
      <div className="row">
        <Badge tone={taskTone(task.state)}>{task.state}</Badge>
        <Link href={`/work/tasks/${task.id}`}>{task.title}</Link>
        <span className="small muted">
          {task.assignee} · <Ago at={task.updated_at} />
        </span>
      </div>
      {task.summary !== null && <p className="small muted few-lines">{task.summary}</p>}
      <TaskButtons task={task} again={again} />
    </li>
  )
}

function Judged({ tasks }: { readonly tasks: readonly TaskView[] }) {
  return (
    <Table label="Table of verdicts" columns={['Verdict', 'Task', 'Agent', 'Review', 'By']}>
      {tasks.map((task) => (
        <tr key={task.id}>
          <td>{task.outcome && <Badge tone={outcomeTone(task.outcome)}>{task.outcome}</Badge>}</td>
          <td>
            <Link href={`/work/tasks/${task.id}`}>{task.title}</Link>
          </td>
          <td data-label="Agent">{task.assignee}</td>
          <td className="plain-text">{task.feedback}</td>
          <td className="muted" data-label="By">
            {task.outcome_by !== null && formatActor(task.outcome_by)}
          </td>
        </tr>
      ))}
    </Table>
  )
}
