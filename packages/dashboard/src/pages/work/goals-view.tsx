import { Link } from 'wouter'
import type { ProjectSummary } from '@flotilla/protocol/project-api'
import { useMesh } from '../../data/use-mesh.ts'
import { Ago, Card, Empty, Failed, Loading } from '../../design/parts.tsx'

/** Lists the goal of each project, and how many of its tasks are done. */
export function GoalsView() {
  const projects = useMesh('projects')
  if (projects.isPending) return <Loading />
  if (projects.error) return <Failed error={projects.error} retry={projects.refetch} />
  const used = projects.data.projects.filter(({ archived_at: archivedAt }) => archivedAt === null)
  if (used.length === 0) {
    return (
      <section className="card" aria-label="Goals">
        <Empty title="No goal yet">
          Goals belong to projects: create a project and write its goal. Members read the goal before they
          work.
        </Empty>
      </section>
    )
  }
  return (
    <div className="halves">
      {used.map((project) => (
        <Goal key={project.name} project={project} />
      ))}
    </div>
  )
}

function Goal({ project: { name, goal, tasks, updated_at: at } }: { readonly project: ProjectSummary }) {
  const detail = useMesh('project', { params: { name } })
  const all = Object.values(tasks).reduce((sum, count) => sum + count, 0)
  const done = tasks['done'] ?? 0
  return (
    <Card title={name} more={<Link href={`/work/projects/${name}`}>Open</Link>}>
      <div className="body stack">
        <p className="plain-text">{goal === '' ? 'No goal is written yet.' : goal}</p>
        {detail.data && detail.data.criteria.length > 0 && (
          <ul className="points">
            {detail.data.criteria.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        )}
        <div className="row apart small muted number">
          <span>{all === 0 ? 'no task yet' : `${done} of ${all} tasks done`}</span>
          <span>
            changed <Ago at={at} />
          </span>
        </div>
        {all > 0 && (
          <progress className="progress" max={all} value={done} aria-label={`Tasks done, ${name}`} />
        )}
      </div>
    </Card>
  )
}
