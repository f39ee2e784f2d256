import { QueryClientProvider } from '@tanstack/react-query'
import { Suspense } from 'react'
import { Redirect, Route, Switch } from 'wouter'
import { ServicesContext } from '../data/use-mesh.ts'
import { Empty, Loading } from '../design/parts.tsx'
import { Boundary } from './boundary.tsx'
import {
  ApprovalsPage,
  ChatPage,
  CostsPage,
  DesignPage,
  FleetPage,
  JournalPage,
  RunPage,
  RunsPage,
  SettingsPage,
  TriggersPage,
  WelcomePage,
} from './pages.ts'
import type { Services } from './services.ts'
import { Shell } from './shell.tsx'
import { Toasts } from './toast-list.tsx'

export function App({ services }: { readonly services: Services }) {
  return (
    <ServicesContext value={services}>
      <QueryClientProvider client={services.queries}>
        <Shell>
          <Boundary>
            <Suspense fallback={<Loading rows={6} />}>
              <Switch>
                <Route path="/">
                  <Redirect to="/chat" replace />
                </Route>
                <Route path="/chat">
                  <ChatPage agent={null} />
                </Route>
                <Route path="/chat/:agent">{({ agent }) => <ChatPage agent={agent} />}</Route>
                <Route path="/fleet">
                  <FleetPage />
                </Route>
                <Route path="/runs">
                  <RunsPage />
                </Route>
                <Route path="/runs/:id">{({ id }) => <RunPage id={id} />}</Route>
                <Route path="/approvals">
                  <ApprovalsPage />
                </Route>
                <Route path="/costs">
                  <CostsPage />
                </Route>
                <Route path="/triggers">
                  <TriggersPage />
                </Route>
                <Route path="/journal">
                  <JournalPage />
                </Route>
                <Route path="/settings/:part?">{({ part }) => <SettingsPage part={part ?? null} />}</Route>
                <Route path="/welcome">
                  <WelcomePage />
                </Route>
                <Route path="/design">
                  <DesignPage />
                </Route>
                <Route>
                  <Empty title="There is no such page">Choose one from the menu.</Empty>
                </Route>
              </Switch>
            </Suspense>
          </Boundary>
        </Shell>
        <Toasts />
      </QueryClientProvider>
    </ServicesContext>
  )
}
