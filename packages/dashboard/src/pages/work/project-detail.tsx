import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { formatActor } from '@flotilla/protocol/format-actor'
import type { ProjectView } from '@flotilla/protocol/project-api'
import { projectLimits } from '@flotilla/protocol/project-limits'
import { formatUsd } from '../../data/format.ts'
import { useAction, useMesh, useRefusal } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Confirm } from '../../design/confirm.tsx'
import { Markdown } from '../../design/markdown.tsx'
import { Ago, Badge, Bar, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { ProjectText } from './project-text.tsx'

const stale = ['project', 'projects', 'status'] as const

export function ProjectDetail({ name }: { readonly name: string }) {
  const found = useMesh('project', { params: { name } })
  const manage = useAction('projectManage', { stale })
  if (found.isPending) return <Loading />
  if (found.error) return <Failed error={found.error} retry={found.refetch} />
  const project = found.data
  const isPutAway = project.archived_at !== null
  return (
    <>
      <div className="row">
        <h2>{name}</h2>
        {isPutAway && <Badge>archived</Badge>}
        <Act
          call="projectManage"
          className="button small"
          disabled={manage.isPending}
          onClick={() =>
            manage.mutate({ params: { name }, body: { action: isPutAway ? 'unarchive' : 'archive' } })
          }
        >
          {isPutAway ? 'Unarchive' : 'Archive'}
        </Act>
        {isPutAway && <DeleteProject project={project} />}
        <Link className="small" href={`/work?project=${name}`}>
          Its tasks
        </Link>
      </div>
      <div className="two">
        <div className="stack">
          <Goal project={project} />
          <Sections project={project} />
          <Tasks title="Blocked" tasks={project.blocked} />
          <Tasks title="Recently done" tasks={project.done} />
        </div>
        <div className="stack">
          <Members project={project} />
          <Budget project={project} />
        </div>
      </div>
    </>
  )
}

/** Deletes an archived project; the mesh rejects the deletion of any other project. */
function DeleteProject({ project: { name, members, sections, budget } }: { readonly project: ProjectView }) {
  const [asking, setAsking] = useState(false)
  const [, goTo] = useLocation()
  const remove = useAction('projectDelete', {
    done: `Project ${name} is deleted.`,
    stale: ['projects', 'status', 'blackboard', 'topicsView', 'artifacts', 'budgets'],
  })
  const held = budget.daily_usd !== null || budget.monthly_usd !== null
  return (
    <>
      <Act call="projectDelete" className="button small danger" onClick={() => setAsking(true)}>
        Delete …
      </Act>
      {asking && (
        <Confirm
          title={`Delete project ${name}?`}
          action={`Delete ${name}`}
          busy={remove.isPending}
          onClose={() => setAsking(false)}
          onConfirm={() =>
            remove.mutate(
              { params: { name } },
              { onSuccess: () => goTo('/work/projects', { replace: true }), onError: () => setAsking(false) },
            )
          }
        >
          <div className="stack">
            <p>These are deleted too, permanently:</p>
            <ul className="points">
              <li>
                its goal
                {sections.length > 0 && ` and ${sections.length} section${sections.length === 1 ? '' : 's'}`}
              </li>
              <li>its blackboard keys and their history</li>
              <li>its topics, and the files that were shared in it</li>
              {held && (
                <li>
                  its budget: afterwards only their own budgets and the budget of the fleet limit its members
                </li>
              )}
            </ul>
            <p>
              {members.length === 0
                ? 'The project has no members. '
                : `${members.join(', ')} will belong to no project. `}
              Tasks, costs and the journal keep its name.
            </p>
          </div>
        </Confirm>
      )}
    </>
  )
}

function Goal({ project }: { readonly project: ProjectView }) {
  const [editing, setEditing] = useState(false)
  const { goal, criteria } = project
  return (
    <Card
      title="Goal"
      more={
        project.archived_at === null ? (
          <Act call="projectWrite" className="button small" onClick={() => setEditing(true)}>
            Edit goal …
          </Act>
        ) : null
      }
    >
      {goal === '' ? (
        <Empty title="No goal yet">
          Every member reads the goal before it works. Say in a sentence or two what is to be reached.
        </Empty>
      ) : (
        <div className="body stack">
          <Markdown text={goal} />
          {criteria.length > 0 && (
            <ul className="prose points">
              {criteria.map((one) => (
                <li key={one}>{one}</li>
              ))}
            </ul>
          )}
        </div>
      )}
      {editing && <ProjectText project={project} section={null} close={() => setEditing(false)} />}
    </Card>
  )
}

function Sections({ project }: { readonly project: ProjectView }) {
  const [editing, setEditing] = useState<string | null>(null)
  const open = project.archived_at === null
  return (
    <>
      {project.sections.map((section) => (
        <Card
          key={section.name}
          title={section.name}
          more={
            <span className="row small muted">
              {formatActor(section.updated_by)} <Ago at={section.updated_at} />
              {open && (
                <Act call="projectWrite" className="button small" onClick={() => setEditing(section.name)}>
                  Edit …<span className="hidden-words"> {section.name}</span>
                </Act>
              )}
            </span>
          }
        >
          <div className="body">
            <Markdown text={section.text} />
          </div>
        </Card>
      ))}
      {open && project.sections.length < projectLimits.sectionsMax && (
        <div className="row">
          <Act call="projectWrite" className="button" onClick={() => setEditing('')}>
            New section …
          </Act>
        </div>
      )}
      {editing !== null && <ProjectText project={project} section={editing} close={() => setEditing(null)} />}
    </>
  )
}

function Tasks({ title, tasks }: { readonly title: string; readonly tasks: ProjectView['done'] }) {
  if (tasks.length === 0) return null
  return (
    <Card title={title}>
      <ul className="body stack">
        {tasks.map(({ id, title, summary }) => (
          <li key={id}>
            <Link href={`/work/tasks/${id}`}>{title}</Link>
            <p className="small muted few-lines">{summary}</p>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function Members({ project: { name, members, archived_at: archivedAt } }: { readonly project: ProjectView }) {
  const status = useMesh('status')
  const manage = useAction('projectManage', {
    stale,
    done: ({ moved: [one] }) => (one === undefined ? null : `${one.agent} is moved here from ${one.from}.`),
  })
  const refusal = useRefusal({ call: 'projectManage' })
  const others = (status.data?.agents ?? []).filter(
    ({ id, kind, archived }) => kind === 'worker' && !archived && !members.includes(id),
  )
  return (
    <Card title="Members">
      <div className="body stack">
        {members.length === 0 && (
          <p className="muted">No members yet. Add an agent: members read the goal and can share files.</p>
        )}
        <ul className="stack">
          {members.map((id) => (
            <li key={id} className="row apart">
              <Link href={`/chat/${id}`}>{id}</Link>
              {archivedAt === null && (
                <Act
                  call="projectManage"
                  className="button small quiet"
                  disabled={manage.isPending}
                  onClick={() =>
                    manage.mutate({ params: { name }, body: { action: 'remove_members', agents: [id] } })
                  }
                >
                  Remove<span className="hidden-words"> {id}</span>
                </Act>
              )}
            </li>
          ))}
        </ul>
        {archivedAt === null && others.length > 0 && (
          <select
            className="input"
            aria-label="Add an agent"
            value=""
            disabled={manage.isPending || refusal !== null}
            title={refusal ?? undefined}
            onChange={(event) =>
              manage.mutate({
                params: { name },
                body: { action: 'add_members', agents: [event.target.value] },
              })
            }
          >
            <option value="">Add an agent</option>
            {others.map(({ id }) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </select>
        )}
      </div>
    </Card>
  )
}

function Budget({ project: { name, budget } }: { readonly project: ProjectView }) {
  const periods = [
    ['Today', budget.today_usd, budget.daily_usd],
    ['This month', budget.month_usd, budget.monthly_usd],
  ] as const
  return (
    <Card title="Budget">
      <div className="body stack">
        {periods.map(([label, spent, limit]) => (
          <div key={label} className="stack">
            <div className="row apart small number">
              <span className="muted">{label}</span>
              <span>
                {formatUsd(spent)}
                <span className="muted">
                  {limit === null ? ' without a limit' : ` of ${formatUsd(limit)}`}
                </span>
              </span>
            </div>
            {limit !== null && <Bar part={limit === 0 ? 1 : spent / limit} label={`${label}, ${name}`} />}
          </div>
        ))}
        <Link className="small" href="/costs">
          Costs
        </Link>
      </div>
    </Card>
  )
}
