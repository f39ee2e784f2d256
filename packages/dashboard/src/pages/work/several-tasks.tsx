import type { ManageAction } from '@flotilla/protocol/task-actions'
import type { TaskView } from '@flotilla/protocol/task'
import type { BulkAction, BulkItem } from '../../data/bulk-action.ts'
import { useServices } from '../../data/use-mesh.ts'
import { BulkDialog } from '../../design/bulk-dialog.tsx'
import { offersOf } from './task-offers.ts'

interface TaskItem extends BulkItem {
  readonly task: TaskView
}

/** Accepts, retries or cancels several tasks. */
export function SeveralTasks({
  tasks,
  again,
  onClose,
}: {
  readonly tasks: readonly TaskView[]
  readonly again: ReadonlySet<string>
  readonly onClose: () => void
}) {
  const { client } = useServices()
  const manage =
    (action: ManageAction) =>
    ({ id }: TaskItem) =>
      client.call('taskManage', { params: { id }, body: { action, note: '' } })
  const mayManage =
    (action: ManageAction) =>
    ({ task }: TaskItem): string | null =>
      offersOf(task, again).manage.includes(action) ? null : `It is ${task.state}.`
  const actions: readonly BulkAction<TaskItem>[] = [
    {
      name: 'Accept',
      past: 'accepted',
      call: 'taskReview',
      effect: 'Your verdict is added to the learnings of the agents. It cannot be undone.',
      why: ({ task }) =>
        offersOf(task, again).review.includes('accepted')
          ? null
          : 'It has no result that waits for a review.',
      run: ({ id }) => client.call('taskReview', { params: { id }, body: { outcome: 'accepted' } }),
    },
    {
      name: 'Retry',
      past: 'retried',
      call: 'taskManage',
      effect: 'The agents work on these tasks again, which costs money again.',
      why: mayManage('retry'),
      run: manage('retry'),
    },
    {
      name: 'Cancel',
      past: 'cancelled',
      call: 'taskManage',
      effect: 'Runs of these tasks end. What was done so far stays; a cancelled task cannot be continued.',
      danger: true,
      why: mayManage('cancel'),
      run: manage('cancel'),
    },
  ]
  const items = tasks.map((task) => ({
    id: task.id,
    title: task.title,
    detail: `${task.state}, ${task.assignee}`,
    agent: task.assignee,
    task,
  }))
  return (
    <BulkDialog
      thing="task"
      items={items}
      actions={actions}
      stale={['tasks', 'task', 'projects', 'project', 'runs']}
      onClose={onClose}
    />
  )
}
