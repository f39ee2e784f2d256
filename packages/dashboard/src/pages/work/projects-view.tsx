import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { ProjectSummary } from '@flotilla/protocol/project-api'
import { manageProjectWords } from '@flotilla/protocol/project-limits'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { FormDialog } from '../../design/form-dialog.tsx'
import { FormField } from '../../design/form-field.tsx'
import { Badge, Empty, Failed, Loading } from '../../design/parts.tsx'

/** Every project; those put away last. */
export function ProjectsView() {
  const projects = useMesh('projects')
  const [making, setMaking] = useState(false)
  const listed = (projects.data?.projects ?? []).toSorted(
    (one, other) => Number(one.archived_at !== null) - Number(other.archived_at !== null),
  )
  return (
    <>
      <div className="row">
        <Act call="projectManage" className="button" onClick={() => setMaking(true)}>
          New project …
        </Act>
      </div>
      {projects.isPending && <Loading />}
      {projects.error && <Failed error={projects.error} retry={projects.refetch} />}
      {projects.isSuccess && listed.length === 0 && (
        <section className="card" aria-label="Projects">
          <Empty title="No project yet">
            A project gives its members a goal, shared texts, a private part of the blackboard, and a budget.
            Create a project above and add agents.
          </Empty>
        </section>
      )}
      <div className="cards">
        {listed.map((project) => (
          <ProjectCard key={project.name} project={project} />
        ))}
      </div>
      {making && <NewProject close={() => setMaking(false)} />}
    </>
  )
}

function ProjectCard({ project }: { readonly project: ProjectSummary }) {
  const { name, goal, members, archived_at: archivedAt, tasks } = project
  return (
    <section className="card agent-card" aria-label={name}>
      <div className="row apart">
        <h2>
          <Link href={`/work/projects/${name}`}>{name}</Link>
        </h2>
        {archivedAt !== null && <Badge>archived</Badge>}
      </div>
      <p className="role">{goal === '' ? 'No goal is written yet.' : goal}</p>
      <div className="row small muted">
        <span>{members.length === 0 ? 'no members' : members.join(', ')}</span>
      </div>
      <div className="row small">
        {Object.entries(tasks).map(([state, count]) => (
          <Badge key={state}>
            {count} {state}
          </Badge>
        ))}
      </div>
    </section>
  )
}

function NewProject({ close }: { readonly close: () => void }) {
  const [, go] = useLocation()
  const [name, setName] = useState('')
  const make = useAction('projectManage', { stale: ['projects'] })
  return (
    <FormDialog
      title="New project"
      words={`It ${manageProjectWords.create}; you let them in on its page.`}
      action="Create"
      busy={make.isPending || name === ''}
      onClose={close}
      onSend={() =>
        make.mutate(
          { params: { name }, body: { action: 'create' } },
          {
            onSuccess: () => {
              close()
              go(`/work/projects/${name}`)
            },
          },
        )
      }
    >
      <FormField label="Name: small letters, digits, _ and -">
        <input
          className="input"
          required
          autoFocus
          pattern="[a-z0-9][a-z0-9_\-]{0,63}"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </FormField>
    </FormDialog>
  )
}
