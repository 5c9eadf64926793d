// A short failover.
import { FAILOVER_SCENE } from './failover-scene.ts';
import { testScene } from './scene-tests.ts';

testScene('a hub under load, when its PostgreSQL fails over to a standby', FAILOVER_SCENE);
