import { useState } from 'react'
import { Act } from '../../design/act.tsx'
import { Empty, PageHead } from '../../design/parts.tsx'
import { Tabs } from '../../design/tabs.tsx'
import '../../design/work.css'
import { ArtifactsView } from './artifacts-view.tsx'
import { FeedbackView } from './feedback-view.tsx'
import { GiveTask } from './give-task.tsx'
import { GoalsView } from './goals-view.tsx'
import { ProjectDetail } from './project-detail.tsx'
import { ProjectsView } from './projects-view.tsx'
import { TaskDetail } from './task-detail.tsx'
import { TasksView } from './tasks-view.tsx'

const tabs = [
  { path: '/work', title: 'Tasks' },
  { path: '/work/projects', title: 'Projects' },
  { path: '/work/goals', title: 'Goals' },
  { path: '/work/artifacts', title: 'Artifacts' },
  { path: '/work/feedback', title: 'Feedback' },
] as const

/** `view` comes from the address; without it the page shows the tasks. */
export function WorkPage({ view = 'tasks', item }: { readonly view?: string; readonly item?: string }) {
  const [giving, setGiving] = useState(false)
  return (
    <div className="page wide">
      <PageHead title="Work">
        <Act call="taskGive" className="button primary" onClick={() => setGiving(true)}>
          Give a task …
        </Act>
      </PageHead>
      <Tabs label="Views of work" tabs={tabs} current={view === 'tasks' ? '/work' : `/work/${view}`} />
      <View view={view} item={item} />
      {giving && <GiveTask close={() => setGiving(false)} />}
    </div>
  )
}

function View({ view, item }: { readonly view: string; readonly item: string | undefined }) {
  switch (view) {
    case 'tasks':
      return item === undefined ? <TasksView /> : <TaskDetail id={item} />
    case 'projects':
      return item === undefined ? <ProjectsView /> : <ProjectDetail name={item} />
    case 'goals':
      return <GoalsView />
    case 'artifacts':
      return <ArtifactsView />
    case 'feedback':
      return <FeedbackView />
    default:
      return <Empty title="There is no such view">Choose one above.</Empty>
  }
}
