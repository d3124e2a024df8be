// A React application in strict mode, which runs effects twice.
import { StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { Onefold, useEvent, useUser } from '@onefold/tracker/react'
import { endpoint, go } from './here.js'

function Account({ user }: { user: string }) {
  const signUp = useEvent('signup')
  useUser(user)
  return <button onClick={() => signUp({ props: { plan: 'pro' } })}>Sign up</button>
}

function App() {
  const [user, setUser] = useState<string | undefined>('ada')
  return <>
    <h1>React</h1>
    <Onefold site="blog" endpoint={endpoint} vitals />
    {user && <Account user={user} />}
    <button onClick={() => { setUser(undefined); go('/react/out') }}>Log out</button>
  </>
}

createRoot(document.body.appendChild(document.createElement('div'))).render(<StrictMode><App /></StrictMode>)
