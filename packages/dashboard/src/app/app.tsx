import { operatorAgentId } from '@flotilla/protocol/reserved-ids'
import { QueryClientProvider } from '@tanstack/react-query'
import { Suspense, useSyncExternalStore } from 'react'
import type { ReactNode } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import { ServicesContext, useGoneSince, useMesh, useRefusal, useServices } from '../data/use-mesh.ts'
import { Reserved } from '../design/act.tsx'
import { Empty, Loading } from '../design/parts.tsx'
import { Boundary } from './boundary.tsx'
import {
  AgentPage,
  ApprovalPage,
  ApprovalsPage,
  BlackboardPage,
  ChatPage,
  CostsPage,
  DesignPage,
  FleetPage,
  JournalPage,
  PolicyPage,
  ProofDialog,
  RunPage,
  RunsPage,
  SettingsPage,
  TriggersPage,
  WalletPage,
  WorkPage,
  WelcomePage,
} from './pages.ts'
import type { Services } from './services.ts'
import { Shell } from './shell.tsx'
import { Toasts } from './toast-list.tsx'

export function App({ services }: { readonly services: Services }) {
  const [place] = useLocation()
  return (
    <ServicesContext value={services}>
      <QueryClientProvider client={services.queries}>
        <Shell>
          <Guarded place={place}>
            <Suspense fallback={<Loading rows={6} />}>
              <Switch>
                <Route path="/">
                  <Home />
                </Route>
                <Route path="/chat">
                  <ChatPage agent={null} />
                </Route>
                <Route path="/chat/:agent">{({ agent }) => <ChatPage agent={agent} />}</Route>
                <Route path="/fleet">
                  <FleetPage />
                </Route>
                <Route path="/agents/:id">{({ id }) => <AgentPage key={id} id={id} />}</Route>
                <Route path="/runs">
                  <RunsPage />
                </Route>
                <Route path="/runs/:id">{({ id }) => <RunPage id={id} />}</Route>
                <Route path="/work">
                  <WorkPage />
                </Route>
                <Route path="/work/:view">{({ view }) => <WorkPage view={view} />}</Route>
                <Route path="/work/:view/:item">
                  {({ view, item }) => <WorkPage view={view} item={item} />}
                </Route>
                <Route path="/blackboard">
                  <BlackboardPage />
                </Route>
                <Route path="/blackboard/:view">{({ view }) => <BlackboardPage view={view} />}</Route>
                <Route path="/approvals">
                  <ApprovalsPage />
                </Route>
                <Route path="/approvals/:id">{({ id }) => <ApprovalPage key={id} id={id} />}</Route>
                <Route path="/policy">
                  <Reserved call="policy" title="Policy" isPage>
                    <PolicyPage />
                  </Reserved>
                </Route>
                <Route path="/costs">
                  <CostsPage />
                </Route>
                <Route path="/wallet">
                  <Reserved call="walletStatus" title="Wallet" isPage>
                    <WalletPage />
                  </Reserved>
                </Route>
                <Route path="/triggers">
                  <TriggersPage />
                </Route>
                <Route path="/journal">
                  <Reserved call="journalExport" title="Journal" isPage>
                    <JournalPage />
                  </Reserved>
                </Route>
                <Route path="/settings/:part?">{({ part }) => <SettingsPage part={part ?? null} />}</Route>
                <Route path="/welcome">
                  <Reserved call="setup" title="Welcome" isPage>
                    <WelcomePage />
                  </Reserved>
                </Route>
                <Route path="/design">
                  <DesignPage />
                </Route>
                <Route>
                  <Empty title="There is no such page">Choose one from the menu.</Empty>
                </Route>
              </Switch>
            </Suspense>
          </Guarded>
        </Shell>
        <Toasts />
        <ProofQuestion />
      </QueryClientProvider>
    </ServicesContext>
  )
}

function Guarded({ place, children }: { readonly place: string; readonly children: ReactNode }) {
  return (
    <Boundary place={place} isGone={useGoneSince() !== null}>
      {children}
    </Boundary>
  )
}

/** Redirects to the setup if the fleet has no default model, else to the operator's chat if the person may use it. */
function Home() {
  const status = useMesh('status')
  const me = useMesh('me')
  const refusal = useRefusal({ call: 'chat', agent: operatorAgentId })
  if (status.isPending || me.isPending) return <Loading rows={6} />
  const chat = refusal === null ? `/chat/${operatorAgentId}` : '/chat'
  return <Redirect to={status.data?.default_model === null ? '/welcome' : chat} replace />
}

function ProofQuestion() {
  const { proofs } = useServices()
  const isAsking = useSyncExternalStore(proofs.subscribe, proofs.question) !== ''
  return <Suspense fallback={null}>{isAsking && <ProofDialog />}</Suspense>
}
