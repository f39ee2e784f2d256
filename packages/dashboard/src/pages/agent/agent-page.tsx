import { Tab, TabList, TabPanel, TabProvider } from '@ariakit/react/tab'
import type { ReactNode } from 'react'
import { Link, useSearchParams } from 'wouter'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { useMesh } from '../../data/use-mesh.ts'
import { Badge, Card, Empty, Failed, Loading, PageHead } from '../../design/parts.tsx'
import '../../design/agent.css'
import { agentTone, agentWords } from '../agent-state.ts'
import { useCurrentInView } from '../../design/use-current-in-view.ts'
import { FilesTab } from './files-tab.tsx'
import { IdentityTab } from './identity-tab.tsx'
import { LogsTab } from './logs-tab.tsx'
import { MemoryTab } from './memory-tab.tsx'
import { OverviewTab } from './overview-tab.tsx'
import { PermissionsTab } from './permissions-tab.tsx'
import { RunsTab } from './runs-tab.tsx'
import { ScheduleTab } from './schedule-tab.tsx'
import { ToolsTab } from './tools-tab.tsx'

interface TabEntry {
  readonly id: string
  readonly title: string
  readonly draw: (agent: AgentView) => ReactNode
  /** True if the tab requests data from the agent itself, which starts the agent. */
  readonly asksAgent?: true
}

const tabs: readonly TabEntry[] = [
  { id: 'overview', title: 'Overview', draw: (agent) => <OverviewTab agent={agent} /> },
  { id: 'identity', title: 'Identity', draw: ({ id }) => <IdentityTab agentId={id} />, asksAgent: true },
  { id: 'permissions', title: 'Permissions', draw: ({ id }) => <PermissionsTab agentId={id} /> },
  { id: 'memory', title: 'Memory', draw: ({ id }) => <MemoryTab agentId={id} />, asksAgent: true },
  { id: 'tools', title: 'Skills and tools', draw: ({ id }) => <ToolsTab agentId={id} />, asksAgent: true },
  { id: 'schedule', title: 'Schedule', draw: ({ id }) => <ScheduleTab agentId={id} /> },
  { id: 'files', title: 'Files', draw: ({ id }) => <FilesTab agentId={id} />, asksAgent: true },
  { id: 'runs', title: 'Runs', draw: ({ id }) => <RunsTab agentId={id} /> },
  { id: 'logs', title: 'Logs', draw: ({ id }) => <LogsTab agentId={id} /> },
]

/** The page of one agent: state, identity, permissions, knowledge and activity. */
export function AgentPage({ id }: { readonly id: string }) {
  const [search, setSearch] = useSearchParams()
  const status = useMesh('status')
  const agent = status.data?.agents.find((one) => one.id === id)
  const chosen = tabs.find((tab) => tab.id === search.get('tab'))?.id ?? 'overview'
  const list = useCurrentInView<HTMLDivElement>(chosen, agent !== undefined)
  return (
    <div className="page">
      <PageHead title={id}>
        {agent && <Badge tone={agentTone(agent)}>{agentWords(agent)}</Badge>}
        {agent && !agent.archived && (
          <Link href={`/chat/${encodeURIComponent(id)}`} className="button">
            Chat
          </Link>
        )}
        <Link href="/fleet" className="button quiet">
          All agents
        </Link>
      </PageHead>
      {status.isPending && <Loading />}
      {status.error && <Failed error={status.error} retry={status.refetch} />}
      {status.isSuccess && !agent && (
        <Empty title="No agent has this name">
          It may have been deleted. The fleet page lists all agents.
        </Empty>
      )}
      {agent && (
        <TabProvider
          selectedId={chosen}
          setSelectedId={(next) =>
            setSearch(next === 'overview' ? {} : { tab: next ?? 'overview' }, { replace: true })
          }
          // Arrow keys only move the focus, because selecting some tabs starts the agent.
          selectOnMove={false}
        >
          <TabList ref={list} className="tab-list" aria-label={`Parts of ${id}`}>
            {tabs.map((tab) => (
              <Tab key={tab.id} id={tab.id} className="tab">
                {tab.title}
              </Tab>
            ))}
          </TabList>
          {tabs.map((tab) => (
            <TabPanel key={tab.id} tabId={tab.id} className="tab-panel" unmountOnHide>
              {tab.asksAgent && agent.archived ? <PutAway /> : tab.draw(agent)}
            </TabPanel>
          ))}
        </TabProvider>
      )}
    </div>
  )
}

function PutAway() {
  return (
    <Card title="Archived">
      <Empty title="An archived agent is not started">
        Its data is kept. Unarchive the agent in Overview to see the data.
      </Empty>
    </Card>
  )
}
