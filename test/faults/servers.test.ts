// Short faults of the servers that hubs depend on.

import { testScene } from './scenes/scene-tests.ts';
import { SERVERS_SCENE } from './scenes/servers-scene.ts';

testScene('a hub under load, when a hub, its PostgreSQL or its Redis fails', SERVERS_SCENE);
