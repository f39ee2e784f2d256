import { Empty, PageHead } from '../../design/parts.tsx'
import { Tabs } from '../../design/tabs.tsx'
import '../../design/blackboard.css'
import { EntriesView } from './entries-view.tsx'
import { TopicsView } from './topics-view.tsx'
import { WatchesView } from './watches-view.tsx'

const tabs = [
  { path: '/blackboard', title: 'Entries' },
  { path: '/blackboard/topics', title: 'Topics' },
  { path: '/blackboard/watches', title: 'Watches' },
] as const

/** `view` comes from the address; without it the page shows the entries. */
export function BlackboardPage({ view = 'entries' }: { readonly view?: string }) {
  return (
    <div className="page">
      <PageHead title="Blackboard" />
      <Tabs
        label="Views of what agents share"
        tabs={tabs}
        current={view === 'entries' ? '/blackboard' : `/blackboard/${view}`}
      />
      {view === 'entries' && <EntriesView />}
      {view === 'topics' && <TopicsView />}
      {view === 'watches' && <WatchesView />}
      {!['entries', 'topics', 'watches'].includes(view) && (
        <Empty title="There is no such view">Choose one above.</Empty>
      )}
    </div>
  )
}
